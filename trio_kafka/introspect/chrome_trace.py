"""Recordings in the Chrome trace format, which Perfetto and `chrome://tracing` open.

Each lane of tasks is a thread of the process `tasks`; each request is an asynchronous event of its
plane, with its hops inside, and arrows lead from the task that received it over its handler to the
task that sent its answer. Times are microseconds since the recording began.
Source: "Trace Event Format" of the Chromium project, JSON object format.
"""

import json
from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.texts import LONGEST_NAME, shortened

TASKS: Final = 1  # process id of tasks; planes have the following ones
_HOPS: Final = (
    ("queue", "received", "begun"),
    ("local", "begun", "handled"),
    ("remote", "handled", "answered"),
    ("response_queue", "answered", "sending"),
    ("send", "sending", "sent"),
)
_ARROW: Final = ("received", "begun", "answered", "sent")
Event = dict[str, object]


def chrome_trace(recording: Recording) -> Iterator[bytes]:
    """Yield the file in pieces, each of one event."""
    began = ",\n"
    about = {
        "omitted_steps": recording.omitted_steps,
        "omitted_requests": recording.omitted_requests,
    }
    head = {"displayTimeUnit": "ms", "otherData": about}
    yield f'{json.dumps(head)[:-1]}, "traceEvents": [\n'.encode()
    first = True
    for event in _events(recording):
        yield (("" if first else began) + json.dumps(event)).encode()
        first = False
    yield b"\n]}\n"


def _events(recording: Recording) -> Iterator[Event]:
    yield _name("process_name", TASKS, 0, "tasks")
    for number, name in enumerate(recording.lanes, 1):
        yield _name("thread_name", TASKS, number, name)
    for lane, begin, end in recording.steps():
        yield {
            "ph": "X",
            "name": "runs",
            "cat": "task",
            "pid": TASKS,
            "tid": lane + 1,
            "ts": _us(recording, begin),
            "dur": round((end - begin) * 1e6, 1),
        }
    processes = dict[str, int]()
    for number, (plane, api, stamps) in enumerate(recording.requests):
        if plane not in processes:
            processes[plane] = TASKS + 1 + len(processes)
            yield _name("process_name", processes[plane], 0, f"requests of plane {plane}")
        yield from _request(recording, number, processes[plane], api, stamps)


def _request(
    recording: Recording, number: int, process: int, api: str, stamps: Stamps
) -> Iterator[Event]:
    """Yield a request: its own event, its hops, its arrows."""
    within = {"cat": "request", "id": f"0x{number:x}", "pid": process, "tid": 0}
    title = f"{api} v{stamps.version}"
    facts = {
        "client": shortened(stamps.client_id, LONGEST_NAME),
        "listener": stamps.origin.listener,
        "connection": stamps.origin.number,
        "correlation": stamps.correlation,
        "request_bytes": stamps.request_bytes,
        "response_bytes": stamps.response_bytes,
        "plugin_ms": round(stamps.plugin_s * 1e3, 3),
        "throttled_ms": round(stamps.throttled_s * 1e3, 3),
        "error": stamps.error,
    }
    yield {
        **within, "ph": "b", "name": title, "ts": _us(recording, stamps.received), "args": facts
    }  # fmt: skip
    for name, begin, end in _HOPS:
        begun, ended = getattr(stamps, begin), getattr(stamps, end)
        if begun and ended > begun:
            yield {**within, "ph": "b", "name": name, "ts": _us(recording, begun)}
            yield {**within, "ph": "e", "name": name, "ts": _us(recording, ended)}
    yield {**within, "ph": "e", "name": title, "ts": _us(recording, stamps.sent)}
    yield from _arrows(recording, number, title, stamps)


def _arrows(recording: Recording, number: int, title: str, stamps: Stamps) -> Iterator[Event]:
    """Yield the arrow from task to task; none for a request that one task served alone."""
    spots = list[tuple[int, float]]()
    for name in _ARROW:
        time = getattr(stamps, name)
        lane = recording.lane_at(time)
        if lane is not None and (not spots or spots[-1][0] != lane):
            spots.append((lane, time))
    if len(spots) < 2:
        return
    for at, (lane, time) in enumerate(spots):
        phase = "s" if not at else "f" if at == len(spots) - 1 else "t"
        event: Event = {
            "ph": phase,
            "name": title,
            "cat": "way",
            "id": number,
            "pid": TASKS,
            "tid": lane + 1,
            "ts": _us(recording, time),
        }
        yield {**event, "bp": "e"} if phase == "f" else event


def _name(kind: str, process: int, thread: int, name: str) -> Event:
    return {
        "ph": "M",
        "name": kind,
        "pid": process,
        "tid": thread,
        "args": {"name": shortened(name, LONGEST_NAME)},
    }


def _us(recording: Recording, time: float) -> float:
    return round((time - recording.began) * 1e6, 1)
