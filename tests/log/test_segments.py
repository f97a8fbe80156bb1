from trio_kafka.log.files.operations import run_now
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments


async def test_offset_lies_in_the_last_segment_that_begins_at_or_before(autojump_clock, world):
    root = world.directory("/data", create=True)
    parts = [run_now(Segment.create(root, base, 0)) for base in (20, 0, 10)]
    segments = Segments(parts)

    assert [segment.base_offset for segment in segments] == [0, 10, 20]
    assert [segments.floor(offset) for offset in (0, 9, 10, 25)] == [0, 0, 1, 2]
    assert [segments.end_of(number, 33) for number in range(3)] == [10, 20, 33]
    assert segments.active is parts[0]
    assert segments.at(3) is None


async def test_the_last_segment_is_active(autojump_clock, world):
    root = world.directory("/data", create=True)
    segments = Segments([run_now(Segment.create(root, 0, 0))])
    new = run_now(Segment.create(root, 5, 0))

    segments.add(new)
    assert segments.active is new
    segments.remove(new)

    assert segments.active is segments.first
    assert len(segments) == 1


async def test_segments_below_an_offset_are_removed_except_the_active_segment(
    autojump_clock, world
):
    root = world.directory("/data", create=True)
    parts = [run_now(Segment.create(root, base, 0)) for base in (0, 10, 20, 30)]
    segments = Segments(parts)

    assert segments.remove_below(9) == []
    assert segments.remove_below(19) == parts[:1]
    assert segments.remove_below(20) == parts[1:2]
    assert segments.remove_below(1000) == parts[2:3]
    assert list(segments) == [segments.active] == parts[3:]
    assert segments.end_of(0, 44) == 44


async def test_adjacent_sealed_segments_are_replaced_by_another_segment(autojump_clock, world):
    root = world.directory("/data", create=True)
    parts = [run_now(Segment.create(root, base, 0)) for base in (0, 10, 20, 30)]
    for segment in parts[:3]:
        segment.seal()
    segments = Segments(parts)
    new = run_now(Segment.create(world.directory("/new", create=True), 0, 0))

    assert segments.has(parts[:2])
    assert segments.has(parts[1:3])
    assert not segments.has(parts[::2])  # not adjacent
    assert not segments.has(parts[2:])  # the last one grows
    segments.replace(parts[:2], new)

    assert list(segments) == [new, *parts[2:]]
    assert [segments.floor(offset) for offset in (0, 15, 20, 35)] == [0, 0, 1, 2]
    assert segments.end_of(0, 40) == 20
    assert not segments.has(parts[:2])
