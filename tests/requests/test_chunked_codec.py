"""Steps are driven by the clock, thinned out, and give what one go gives."""

from collections import defaultdict

import pytest

from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from trio_kafka.requests.chunked_codec import (
    KEPT_BYTES,
    MAX_ITEMS,
    decode_in_steps,
    encode_in_steps,
    merged_steps,
)
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.replies import encoded_in_steps
from trio_kafka.scheduling.chunked_work import Done, Steps, advance, whole
from trio_kafka.wire.streamed import StreamedBody


def counting(steps: int, seen: list[str]) -> Steps[str]:
    try:
        for number in range(steps):
            seen.append(str(number))
            yield
    finally:
        seen.append("end")
    return "done"


def test_steps_advance_until_their_end_time_and_at_least_once() -> None:
    now = 0.0

    def elapsed() -> float:
        nonlocal now
        now += 1
        return now

    seen: list[str] = []
    steps = counting(6, seen)

    assert advance(steps, elapsed, ends=3.0) is None
    assert seen == ["0", "1", "2"]
    assert advance(steps, elapsed, ends=0.0) is None
    assert seen == ["0", "1", "2", "3"]
    assert advance(steps, elapsed, ends=100.0) == Done("done")


@pytest.mark.parametrize(("fine", "expected"), [(0, 0), (3, 0), (4, 1), (9, 2)])
def test_merged_steps_take_several_steps_at_once(fine: int, expected: int) -> None:
    seen: list[str] = []
    steps = merged_steps(counting(fine, seen), 4)
    taken = 0
    while advance(steps, lambda: 1.0, 0.0) is None:
        taken += 1

    assert taken == expected
    assert len(seen) == fine + 1


def test_closing_merged_steps_closes_the_inner_steps() -> None:
    seen: list[str] = []
    steps = merged_steps(counting(9, seen), 2)
    next(steps)
    steps.close()

    assert seen == ["0", "1", "end"]


def topics(count: int) -> MetadataResponse:
    return MetadataResponse(
        topics=lazily(range(count), lambda at: MetadataResponseTopic(name=f"t-{at}"))
    )


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_response_encoded_in_steps_has_the_same_bytes_as_encoded_at_once(count: int) -> None:
    whole = MetadataResponse(topics=list(topics(count).topics))
    steps = encoded_in_steps(topics(count), 12)
    taken = 0
    while (done := advance(steps, lambda: 1.0, 0.0)) is None:
        taken += 1

    assert done.value.body == to_bytes(whole, 12)
    assert done.value.errors == ({0: count} if count else {})
    assert taken == count // 16


def test_large_response_is_encoded_in_few_segments_and_keeps_its_file_ranges() -> None:
    class Range:
        def __len__(self) -> int:
            return 7

    place = Range()
    data = [PartitionProduceData(index=at, records=b"x" * 200) for at in range(5000)]
    data[2500].records = place
    message = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=data)])
    steps = encode_in_steps(message, 9)
    while (done := advance(steps, lambda: 1.0, 0.0)) is None:
        pass

    assert (
        sum(map(len, done.value)) == len(to_bytes(_without(message, place), 9)) - 194
    )  # and a varint
    assert place in done.value
    assert len(done.value) < 20


def _without(message: ProduceRequest, place: object) -> ProduceRequest:
    for partition in message.topic_data[0].partition_data:
        if partition.records is place:
            partition.records = b"x" * 200
    return message


def wide(count: int) -> MetadataResponse:
    """Topics with names of 200 characters."""
    return MetadataResponse(
        topics=lazily(range(count), lambda at: MetadataResponseTopic(name=f"{at:0200}"))
    )


def test_very_large_response_is_encoded_while_sending() -> None:
    message = wide(50_000)
    body = to_bytes(MetadataResponse(topics=list(message.topics)), 12)
    counts: dict[int, int] = defaultdict(int)

    (streamed,) = whole(encode_in_steps(message, 12, counts, streams=True))

    assert isinstance(streamed, StreamedBody)
    assert counts == {0: 50_000}
    assert len(streamed) == len(body) > 2 * KEPT_BYTES
    pieces = list(streamed)
    assert b"".join(pieces) == body
    assert max(map(len, pieces)) < 64 << 10


@pytest.mark.parametrize("streams", [False, True])
def test_responses_that_are_smaller_or_have_records_are_encoded_before_sending(
    *, streams: bool
) -> None:
    count = 50_000 if not streams else 5000
    assert all(
        type(piece) is bytes for piece in whole(encode_in_steps(wide(count), 12, streams=streams))
    )

    data = [PartitionProduceData(index=at, records=b"x" * 2000) for at in range(5000)]
    message = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=data)])
    segments = whole(encode_in_steps(message, 9, streams=streams))
    assert all(type(segment) is bytes for segment in segments)


def test_encoding_in_steps_raises_the_error_of_an_invalid_field() -> None:
    def make(at: int) -> MetadataResponseTopic:
        return MetadataResponseTopic(name="t" if at < 100 else 5)  # type: ignore[arg-type]

    with pytest.raises(EncodeError, match="MetadataResponse version 12, topics"):
        list(encoded_in_steps(MetadataResponse(topics=lazily(range(200), make)), 12))


@pytest.mark.slow  # 0.3 s
@pytest.mark.parametrize(("more", "fits"), [(-16, True), (16, False)])
def test_request_with_too_many_array_items_is_rejected(more: int, fits: bool) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="")] * (MAX_ITEMS + more))
    steps = decode_in_steps(MetadataRequest, 1, memoryview(to_bytes(request, 1)), 0)
    if fits:
        assert len(whole(steps).topics or ()) == MAX_ITEMS + more
        return
    with pytest.raises(DecodeError, match=f"more than {MAX_ITEMS} array items"):
        whole(steps)
