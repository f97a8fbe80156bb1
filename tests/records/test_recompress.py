from hypothesis import given
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from trio_kafka.records.batch import Record, check_crc, read_header, read_records
from trio_kafka.records.compression import Codec, compress, decompress
from trio_kafka.records.header import HEADER_SIZE, BatchHeader
from trio_kafka.records.recompress import repacked

CODECS = st.sampled_from(Codec)


def recompress(batch: memoryview, codec: Codec) -> tuple[memoryview, BatchHeader]:
    header = read_header(batch)
    plain = decompress(header.codec, batch[HEADER_SIZE:], 1 << 20)
    return repacked(batch, header, codec, compress(codec, plain))


@given(CODECS, CODECS)
def test_recompression_keeps_records_and_header_fields(before: Codec, after: Codec) -> None:
    records = [Record(key=b"k", value=b"v" * n, timestamp=n) for n in range(20)]
    batch = memoryview(
        encode_batch(
            records,
            codec=before,
            producer_id=5,
            producer_epoch=1,
            base_sequence=3,
            transactional=True,
        )
    )

    changed, header = recompress(batch, after)

    check_crc(changed, 0, header)
    assert header == read_header(changed)
    assert header.codec is after
    assert header.size == len(changed)
    assert header.is_transactional
    assert (header.producer_id, header.base_sequence, header.count) == (5, 3, 20)
    expected = list(read_records(batch, 0, read_header(batch)))
    assert list(read_records(changed, 0, header)) == expected
    assert changed == memoryview(
        encode_batch(
            records,
            codec=after,
            producer_id=5,
            producer_epoch=1,
            base_sequence=3,
            transactional=True,
        )
    )


def test_recompressed_batch_is_writable() -> None:
    batch = memoryview(encode_batch([Record()]))

    assert not recompress(batch, Codec.LZ4)[0].readonly
