"""Sources of tests whose trouble is about requests: they are slow, wait, or get a fault."""

from collections.abc import Mapping
from typing import Any

import attrs

from trio_kafka.strict_json import parse_json
from trio_kafka_admin.copying import loads
from trio_kafka_admin.copying.literals import literal
from trio_kafka_admin.copying.module_parts import fault, inside, load_of, module, topic_line
from trio_kafka_admin.copying.trouble import Trouble
from trio_kafka_http.asgi_json import HttpError


def slow_request(trouble: Trouble) -> str:
    api = trouble.api or "Metadata"
    load = load_of(trouble)
    by_topic = api in ("Produce", "Fetch") and trouble.topic
    block = fault(
        api=api,
        client_id=trouble.client_id,
        topic=trouble.topic if by_topic else "",
        delay_s=trouble.seconds,
    )
    return module(
        "slow_request",
        f"{api} takes {trouble.seconds:g} s.",
        load,
        [topic_line(trouble), *inside(block, load), "assert fault.hits"],
    )


def slow_handler(trouble: Trouble) -> str:
    """Code around requests that waits in its handler, as that of a plugin does."""
    api = trouble.api or "Produce"
    return _around(
        trouble,
        api,
        "slow_plugin",
        f"A plugin takes {trouble.seconds:g} s of each {api}, and keeps the handler.",
        [f"await trio.sleep({trouble.seconds:g})"],
        imports="trio",
    )


def blocked_loop(trouble: Trouble) -> str:
    """Code around requests that blocks the loop, once."""
    return _around(
        trouble,
        trouble.api or "Metadata",
        "blocked_loop",
        f"A plugin blocks the loop for {trouble.seconds:g} s.",
        ["if len(calls) == 1:", f"    time.sleep({trouble.seconds:g})"],
        imports="time",
    )


def _around(
    trouble: Trouble, api: str, name: str, about: str, body: list[str], *, imports: str
) -> str:
    """Return a test with code around the requests of an API. body: its lines before they go on."""
    load = load_of(attrs.evolve(trouble, api=api))
    lines = [
        topic_line(trouble),
        "calls = []",
        "",
        f"@kafka.on({literal(api)})",
        "async def around(request, context, forward):",
        "    calls.append(request)",
        *(f"    {line}" for line in body),
        "    return await forward(request)",
        "",
        *load.lines,
        "assert calls",
    ]
    return module(name, about, load, lines, imports=[imports])


def throttled_client(trouble: Trouble) -> str:
    api = trouble.api or "Produce"
    load = load_of(attrs.evolve(trouble, api=api))
    block = fault(api=api, client_id=trouble.client_id, throttle_s=trouble.seconds)
    return module(
        "throttled_client",
        f"The client is throttled for {trouble.seconds:g} s with each {api}.",
        load,
        [topic_line(trouble), *inside(block, load), "assert fault.hits"],
    )


def waiting_fetch(trouble: Trouble) -> str:
    wait_ms = max(1, min(round(trouble.seconds * 1000), 60_000))
    more = {"fetch.min.bytes": max(1, trouble.amount), "fetch.wait.max.ms": wait_ms}
    load = loads.fetch(trouble.topic or loads.TOPIC, trouble.client_id, more)
    return module(
        "waiting_fetch",
        f"A Fetch waits for {more['fetch.min.bytes']} bytes, for at most {wait_ms} ms.",
        load,
        [topic_line(trouble), *load.lines, "assert record is not None"],
    )


def fault_rule(trouble: Trouble) -> str:
    """Return a test with the same fault rule: its fields are keywords of `kafka.fault`."""
    try:
        rule: Any = parse_json(trouble.rule.encode())
    except ValueError as error:
        raise HttpError(400, f"rule: {error}") from None
    if not isinstance(rule, Mapping) or not all(name.isidentifier() for name in rule):
        raise HttpError(400, "rule: want a JSON object whose keys are fields of a rule")
    api, pattern = rule.get("api"), str(rule.get("topic") or loads.TOPIC)
    topic = pattern.replace("*", "x").replace("?", "x")
    number = rule.get("partition")
    requests = attrs.evolve(
        trouble,
        api=api if isinstance(api, str) else "",
        topic=topic,
        partition=number if isinstance(number, int) else 0,
    )
    load = load_of(requests)
    fields = {name: value for name, value in rule.items() if name != "name"}
    return module(
        "fault_rule",
        "Requests get the fault of the rule.",
        load,
        [
            topic_line(requests),
            *inside(fault(**fields), load),
            "assert fault.hits",
        ],
    )
