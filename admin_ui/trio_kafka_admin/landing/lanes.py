"""Lanes of the picture: the stages of each plane, from two moments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve

from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.snapshots import ApiLoad
from trio_kafka_admin.findings.change import Change, NodeChange
from trio_kafka_admin.findings.finding import SEVERITIES, Finding
from trio_kafka_admin.findings.subjects import HANDLERS
from trio_kafka_admin.findings.texts import amount, counted, duration
from trio_kafka_admin.landing.branches import branch_stages
from trio_kafka_admin.landing.connection_dots import connection_rows
from trio_kafka_admin.landing.dots import DotRow
from trio_kafka_admin.landing.handler_dots import handler_row
from trio_kafka_admin.landing.reasons import reasons_of, worst
from trio_kafka_admin.landing.stage import Lane, Reason, Stage, StageName

_MOST_APIS: Final = 4
_LATE_S: Final = 0.1


def lanes(change: Change, findings: Sequence[Finding], apis: Sequence[ApiLoad]) -> list[Lane]:
    """Return the lanes of all planes that serve Kafka requests.

    The first one has the stages that they share: the group coordinator and the log.
    """
    built = list[Lane]()
    for plane in change.of_kind("plane"):
        nodes = [node for node in change.nodes if node.path[: len(plane.path)] == plane.path]
        if any(node.path[-1] == "request-channel" for node in nodes):
            own = [finding for finding in findings if _is_of(plane, finding, is_first=not built)]
            lane = _lane(change, plane, nodes, findings=own, apis=apis, is_first=not built)
            built.append(lane)
    return built


def _lane(
    change: Change,
    plane: NodeChange,
    nodes: Sequence[NodeChange],
    *,
    findings: Sequence[Finding],
    apis: Sequence[ApiLoad],
    is_first: bool,
) -> Lane:
    name = plane.path[-1].removeprefix("plane ")
    of_plane = [api for api in apis if api.plane == plane.path[-1]]
    requests = [request for request in change.now.requests if request.plane == name]
    stages = [
        *_before_handlers(change, name, nodes),
        _handlers(nodes, requests, of_plane),
        *branch_stages(change, requests, is_shared=is_first),
        _answers(change, name, nodes, of_plane),
    ]
    reasons = reasons_of(findings)
    judged = [_judged(stage, reasons) for stage in stages]
    states = [stage.state for stage in judged if stage.state != "well"]
    return Lane(
        plane=name,
        state=min(states, key=SEVERITIES.index, default="well"),
        per_s=None if change.before is None else sum(api.per_s or 0.0 for api in of_plane),
        stages=judged,
    )


def _is_of(plane: NodeChange, finding: Finding, *, is_first: bool) -> bool:
    """Return whether a finding stands in a lane; the first one has those that name no plane."""
    name = finding.subject.name
    names_this = name.startswith(f"{plane.path[-1]}/") or name.endswith(f" of {plane.path[-1]}")
    return names_this or (is_first and "plane " not in name)


def _judged(stage: Stage, reasons: Mapping[StageName, Sequence[Reason]]) -> Stage:
    why = reasons.get(stage.name, ())
    reason = worst(why)
    return stage if reason is None else evolve(stage, state=reason.severity, why=why)


def _before_handlers(change: Change, plane: str, nodes: Sequence[NodeChange]) -> Iterator[Stage]:
    listeners = [node for node in nodes if node.now.kind == "listener"]
    acceptors = [node for node in nodes if "blocked_s" in node.now.figures and _accepts(node)]
    addresses = [node.now.name.removeprefix("listener ") for node in listeners]
    held = sum(node.number("blocked") for node in acceptors)
    yield Stage(
        name="listener",
        title="Listener" if len(listeners) == 1 else "Listeners",
        count=sum(node.number("accepted") for node in acceptors),
        unit="accepted",
        brief=" ".join(addresses),
        notes=(*addresses, f"held back {counted(held, 'time')}"),
    )
    yield Stage(
        name="connections",
        title="Connections",
        count=sum(node.number("connections") for node in nodes if node.now.kind == "selector"),
        unit="open",
        rows=connection_rows(change, plane, nodes),
    )
    for node in nodes:
        if node.path[-2:] == ("request-channel", "requests"):
            bound, depth = node.number("bound"), node.number("depth")
            oldest_s = node["oldest_s"]
            late: tuple[str, ...] = ()
            if isinstance(oldest_s, float) and oldest_s > _LATE_S:
                late = (f"the oldest waits for {duration(oldest_s)}",)
            yield Stage(
                name="channel",
                title="Request channel",
                count=depth,
                unit=f"of {bound:,.0f} places",
                brief=f"full {counted(node.number('blocked'), 'time')} so far",
                bar=(depth, bound),
                notes=(
                    *late,
                    f"most so far {node.number('high_water'):,.0f}",
                    f"full {counted(node.number('blocked'), 'time')}",
                ),
            )


def _accepts(node: NodeChange) -> bool:
    return node.now.kind == "task" and "accepted" in node.now.figures


def _handlers(
    nodes: Sequence[NodeChange], requests: Sequence[RequestFacts], apis: Sequence[ApiLoad]
) -> Stage:
    tokens = taken = 0.0
    for node in nodes:
        if node.path[-1] == HANDLERS:
            tokens, taken = node.number("tokens"), node.number("borrowed")
    busiest = [api for api in apis if api.per_s]
    return Stage(
        name="handlers",
        title="Handlers",
        count=taken,
        unit=f"of {tokens:,.0f} busy",
        brief=f"{busiest[0].api} {_api(busiest[0])}" if busiest else "",
        rows=[
            handler_row(int(taken), int(tokens), requests),
            *(DotRow(api.api, (), _api(api)) for api in busiest[:_MOST_APIS]),
        ],
    )


def _api(api: ApiLoad) -> str:
    work_ms = api.hops_ms["queue"] + api.hops_ms["local"]
    return f"{api.per_s:,.1f}/s · {work_ms:,.2f} ms"


def _answers(
    change: Change, plane: str, nodes: Sequence[NodeChange], apis: Sequence[ApiLoad]
) -> Stage:
    waiting = sum(node.number("depth") for node in nodes if node.path[-1] == "responses")
    unsent = sum(
        connection.unsent_bytes
        for connection in change.now.connections
        if connection.plane == plane
    )
    per_s = None if change.before is None else sum(api.per_s or 0.0 for api in apis)
    notes = [f"{counted(waiting, 'answer')} {'waits' if waiting == 1 else 'wait'} to be sent"]
    notes.append(f"{amount(unsent)} not yet read by clients")
    if per_s:
        for hop, words in (("response_queue", "wait for a processor"), ("send", "to send")):
            mean = sum((api.per_s or 0.0) * api.hops_ms[hop] for api in apis) / per_s
            notes.append(f"{mean:,.2f} ms {words}")
    return Stage(
        name="answers",
        title="Answers",
        count=per_s,
        unit="a second",
        brief=notes[-1] if unsent == 0 else notes[1],
        notes=notes,
    )
