"""An image as records gives the image again."""

from attrs import evolve

from tests.metadata.kit import everything, image_of
from trio_kafka.metadata.dump import records_of
from trio_kafka.metadata.features import record_version
from trio_kafka.protocol.stored.metadata.frame import decode_record, encode_record


def test_replay_of_the_records_of_an_image_gives_the_same_image() -> None:
    image = image_of(everything())

    records = [
        decode_record(encode_record(record, record_version(record, 33)))
        for record in records_of(image)
    ]

    assert evolve(image_of(records), offset=image.offset) == image
