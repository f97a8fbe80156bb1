from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import produced
from trio_kafka.log.producer_rows import ENTRY, TOGETHER
from trio_kafka.log.producer_snapshot_format import decode, encode
from trio_kafka.log.producer_state import Producer, ProducerState
from trio_kafka.scheduling.chunked_work import whole


def note(state: ProducerState, producer_id: int, *, time: int = 1, open_: bool = False) -> None:
    producer = state.get(producer_id)
    sequence = producer.last_sequence + 1 if producer else 0
    header = produced(
        producer_id, 0, sequence, 0, offset=sequence, timestamp=time, transactional=open_
    )
    state.note(header)


def entries(state: ProducerState) -> dict[int, tuple[int, ...]]:
    """The entry of each producer in a snapshot."""
    result = {}
    for producer in state:
        content = bytearray(ENTRY.size)
        producer.pack_into(content, 0)
        result[producer.producer_id] = ENTRY.unpack(content)
    return result


def test_snapshot_rows_have_the_order_of_the_producers() -> None:
    state = ProducerState()
    for producer_id in (7, 3, 5):
        note(state, producer_id)

    rows = [row[0] for row in ENTRY.iter_unpack(state.rows())]

    assert rows == [7, 3, 5]


def test_snapshot_packs_at_most_a_few_changed_producers_at_its_end() -> None:
    state = ProducerState()
    for producer_id in range(10 * TOGETHER + 5):
        note(state, producer_id)

    assert list(state._changed) == list(range(10 * TOGETHER, 10 * TOGETHER + 5))
    assert len(whole(decode(encode(state)))) == 10 * TOGETHER + 5
    assert not state._changed


def test_snapshot_is_the_same_after_decoding_and_encoding() -> None:
    state = ProducerState()
    for producer_id in range(2 * TOGETHER):
        note(state, producer_id)

    again = whole(decode(encode(state)))

    assert encode(again) == encode(state)
    assert entries(again) == entries(state)


def test_a_producer_that_a_snapshot_names_twice_has_one_row() -> None:
    state = ProducerState()
    state.restore(Producer(producer_id=5, epoch=1))
    state.rows()
    state.restore(Producer(producer_id=5, epoch=2))

    assert [row[:2] for row in ENTRY.iter_unpack(state.rows())] == [(5, 2)]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("note"), st.integers(0, 600)),
        st.tuples(st.just("note many"), st.integers(0, 300)),
        st.tuples(st.just("expire"), st.integers(0, 40)),
        st.tuples(st.just("pack"), st.just(0)),
        st.tuples(st.just("clear"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_snapshot_holds_the_state_of_all_producers_after_any_changes(steps) -> None:
    state = ProducerState()
    for time, (step, number) in enumerate(steps):
        match step:
            case "note":
                note(state, number, time=time, open_=number % 7 == 0)
            case "note many":
                for producer_id in range(number, number + 300):
                    note(state, producer_id, time=time)
            case "expire":
                whole(state.expire(number))
            case "pack":
                state.rows()
            case "clear":
                state.clear()
            case "restart":
                state = whole(decode(encode(state)))

    assert entries(whole(decode(encode(state)))) == entries(state)


def test_producer_that_sends_during_the_expiry_is_kept() -> None:
    state = ProducerState()
    for producer_id in range(3000):
        note(state, producer_id, time=1)

    steps = state.expire(5)
    next(steps)
    note(state, 2500, time=9)
    whole(steps)

    assert [producer.producer_id for producer in state] == [2500]
    assert entries(whole(decode(encode(state)))) == entries(state)
