"""Recordings as Chrome traces."""

import json
from typing import Any

import pytest
import trio

from trio_kafka.introspect.chrome_trace import TASKS, chrome_trace
from trio_kafka.introspect.facts.storage import SyncFacts
from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.texts import LONGEST_NAME

HOSTILE = "\x00\u202e</script>" + "x" * 40_000


class SteppedClock:
    """Moves by a millisecond with each reading."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


async def traced(*, requests: list[Stamps], after: SteppedClock) -> tuple[Recording, Any]:
    recording = Recording(after)
    with recording.running([]):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.lowlevel.checkpoint, name="reader")
            nursery.start_soon(trio.lowlevel.checkpoint, name="handler")
    recording.requests += [("data", "Produce", stamps) for stamps in requests]
    return recording, json.loads(b"".join(chrome_trace(recording)))


async def test_each_step_is_a_complete_event_on_the_thread_of_its_task() -> None:
    recording, trace = await traced(requests=[], after=SteppedClock())
    names = {
        event["tid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    steps = [event for event in trace["traceEvents"] if event["ph"] == "X"]

    assert {"reader", "handler"} <= set(names.values())
    assert [(names[event["tid"]], event["pid"]) for event in steps] == [
        (recording.lanes[lane], TASKS) for lane, _, _ in recording.steps()
    ]
    for event, (_, begin, end) in zip(steps, recording.steps(), strict=True):
        assert event["ts"] == pytest.approx((begin - recording.began) * 1e6, abs=0.1)
        assert event["dur"] == pytest.approx((end - begin) * 1e6, abs=0.1)


async def test_a_request_is_an_event_with_its_hops_inside() -> None:
    stamps = Stamps(
        received=100.1,
        begun=100.2,
        handled=100.3,
        answered=100.3,
        sending=100.4,
        sent=100.5,
        code=9,
        client_id="ledger",
    )
    recording, trace = await traced(requests=[stamps], after=SteppedClock())
    events = [event for event in trace["traceEvents"] if event.get("cat") == "request"]
    times = {
        (event["name"], event["ph"]): round(event["ts"] / 1e6 + recording.began, 4)
        for event in events
    }

    assert len({event["id"] for event in events}) == 1
    assert times == {
        ("Produce v9", "b"): 100.1,
        ("queue", "b"): 100.1,
        ("queue", "e"): 100.2,
        ("local", "b"): 100.2,
        ("local", "e"): 100.3,
        ("response_queue", "b"): 100.3,
        ("response_queue", "e"): 100.4,
        ("send", "b"): 100.4,
        ("send", "e"): 100.5,
        ("Produce v9", "e"): 100.5,
    }
    assert events[0]["args"]["client"] == "ledger"


async def test_arrows_lead_from_the_reader_over_the_handler_to_the_sender() -> None:
    clock = SteppedClock()
    recording, _ = await traced(requests=[], after=clock)
    by_name: dict[str, list[float]] = {}
    for lane, begin, end in recording.steps():
        by_name.setdefault(recording.lanes[lane], []).append((begin + end) / 2)
    lanes = sorted(by_name, key=lambda name: by_name[name][0])[-2:]
    first, second = by_name[lanes[0]][0], by_name[lanes[1]][0]
    last = by_name[lanes[0]][-1]
    stamps = Stamps(received=first, begun=second, answered=second, sending=last, sent=last)
    recording.requests.append(("data", "Produce", stamps))
    trace = json.loads(b"".join(chrome_trace(recording)))
    arrows = [event for event in trace["traceEvents"] if event.get("cat") == "way"]

    assert [event["ph"] for event in arrows] == ["s", "t", "f"]
    assert [recording.lanes[event["tid"] - 1] for event in arrows] == [*lanes, lanes[0]]
    assert arrows[-1]["bp"] == "e"


async def test_a_request_of_unrecorded_tasks_has_no_arrow() -> None:
    stamps = Stamps(received=1.0, begun=1.1, sent=1.2)
    _, trace = await traced(requests=[stamps], after=SteppedClock())

    assert [event for event in trace["traceEvents"] if event.get("cat") == "way"] == []


async def test_texts_of_clients_are_bounded_and_stay_json() -> None:
    stamps = Stamps(received=1.0, begun=1.1, sent=1.2, client_id=HOSTILE)
    _, trace = await traced(requests=[stamps], after=SteppedClock())
    [client] = [
        event["args"]["client"]
        for event in trace["traceEvents"]
        if "client" in event.get("args", {})
    ]

    assert client.startswith(HOSTILE[:LONGEST_NAME])
    assert len(client) < LONGEST_NAME + 50


async def test_what_was_left_out_is_said() -> None:
    recording = Recording(lambda: 0.0, most_steps=0)
    with recording.running([]):
        for _ in range(3):
            await trio.lowlevel.checkpoint()
    trace = json.loads(b"".join(chrome_trace(recording)))

    assert trace["otherData"]["omitted_steps"] == recording.omitted_steps > 0


async def test_syncs_of_a_directory_may_overlap() -> None:
    clock = SteppedClock()
    recording = Recording(clock)
    for age_s, file in ((0.5, "ledger-0"), (0.2, "ledger-1")):
        recording.note_sync(SyncFacts(directory="/data", files=(file,), age_s=age_s))
    trace = json.loads(b"".join(chrome_trace(recording)))
    syncs = [event for event in trace["traceEvents"] if event.get("cat") == "sync"]

    assert [(event["ph"], event["id"]) for event in syncs] == [
        ("b", "0x0"),
        ("e", "0x0"),
        ("b", "0x1"),
        ("e", "0x1"),
    ]
    assert syncs[1]["ts"] - syncs[0]["ts"] == pytest.approx(500_000)
    assert syncs[2]["args"] == {"files": "ledger-1"}
    assert {event["name"] for event in syncs} == {"sync of /data"}
