"""Recordings in the Chrome trace format, which Perfetto and `chrome://tracing` open.

Each lane of tasks is a thread of the process `tasks`; each request is an asynchronous event of its
plane, with its long hops inside, and arrows lead from the task that received it over its handler to
the task that sent its answer. Syncs of log directories are events of the process `disks`. Times
are microseconds since the recording began.
Source: "Trace Event Format" of the Chromium project, JSON object format.
"""

import json
from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.texts import LONGEST_NAME, shortened

LONG_HOP_S: Final = 0.00005  # shorter hops have no event: most requests have no long one
TASKS: Final = 1  # process id of tasks
DISKS: Final = 2  # of syncs; planes have the following ones
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
    """Yield the file in pieces, each of one step of a task or one request."""
    about = {
        "omitted_steps": recording.omitted_steps,
        "omitted_requests": recording.omitted_requests,
        "omitted_syncs": recording.omitted_syncs,
    }
    head = json.dumps({"displayTimeUnit": "ms", "otherData": about})
    yield f'{head[:-1]}, "traceEvents": [\n'.encode()
    yield json.dumps(_name("process_name", TASKS, 0, "tasks")).encode()
    for number, name in enumerate(recording.lanes, 1):
        yield f",\n{json.dumps(_name('thread_name', TASKS, number, name))}".encode()
    began = recording.began
    for lane, begin, end in recording.steps():
        yield (
            f',\n{{"ph": "X", "name": "runs", "cat": "task", "pid": {TASKS}, "tid": {lane + 1},'
            f' "ts": {(begin - began) * 1e6:.1f}, "dur": {(end - begin) * 1e6:.1f}}}'
        ).encode()
    for event in _syncs(recording):
        yield f",\n{json.dumps(event)}".encode()
    planes = dict[str, int]()
    for number, (plane, api, stamps) in enumerate(recording.requests):
        if plane not in planes:
            planes[plane] = DISKS + 1 + len(planes)
            process = _name("process_name", planes[plane], 0, f"requests of plane {plane}")
            yield f",\n{json.dumps(process)}".encode()
        events = _request(recording, number, planes[plane], api, stamps)
        yield "".join(f",\n{json.dumps(event)}" for event in events).encode()
    yield b"\n]}\n"


def _syncs(recording: Recording) -> Iterator[Event]:
    """Yield the syncs of each directory, which may overlap."""
    if recording.syncs:
        yield _name("process_name", DISKS, 0, "disks")
    for number, (sync, end) in enumerate(recording.syncs):
        within = {"cat": "sync", "id": f"0x{number:x}", "pid": DISKS, "tid": 0}
        title = f"sync of {shortened(sync.directory, LONGEST_NAME)}"
        begin = {**within, "ph": "b", "name": title, "ts": _us(recording, end - sync.age_s)}
        yield {**begin, "args": {"files": ", ".join(sync.files)}}
        yield {**within, "ph": "e", "name": title, "ts": _us(recording, end)}


def _request(
    recording: Recording, number: int, process: int, api: str, stamps: Stamps
) -> Iterator[Event]:
    """Yield a request: its own event, its long hops inside, its arrows."""
    within = {"cat": "request", "id": f"0x{number:x}", "pid": process, "tid": 0}
    title = f"{api} v{stamps.version}"
    begin = {**within, "ph": "b", "name": title, "ts": _us(recording, stamps.received)}
    yield {**begin, "args": _facts(stamps)}
    for name, start, end in _HOPS:
        begun, ended = getattr(stamps, start), getattr(stamps, end)
        if begun and ended - begun >= LONG_HOP_S:
            yield {**within, "ph": "b", "name": name, "ts": _us(recording, begun)}
            yield {**within, "ph": "e", "name": name, "ts": _us(recording, ended)}
    yield {**within, "ph": "e", "name": title, "ts": _us(recording, stamps.sent)}
    yield from _arrows(recording, number, title, stamps)


def _facts(stamps: Stamps) -> dict[str, object]:
    hops_us = {
        f"{name}_us": round((getattr(stamps, end) - getattr(stamps, start)) * 1e6)
        for name, start, end in _HOPS
        if getattr(stamps, start)
    }
    return {
        "client": shortened(stamps.client_id, LONGEST_NAME),
        "listener": stamps.origin.listener,
        "connection": stamps.origin.number,
        "correlation": stamps.correlation,
        "request_bytes": stamps.request_bytes,
        "response_bytes": stamps.response_bytes,
        **hops_us,
        "plugin_us": round(stamps.plugin_s * 1e6),
        "throttled_us": round(stamps.throttled_s * 1e6),
        "error": stamps.error,
    }


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
