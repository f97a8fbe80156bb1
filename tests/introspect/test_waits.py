"""Every kind of wait in the code says what it waits for: none can be added that does not."""

import ast
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import pytest

from tests.project.tree import ROOT, modules
from trio_kafka.broker.parts.producer_ids import ProducerIds
from trio_kafka.controls.faults import faults
from trio_kafka.introspect.declared_waits import declared_wait
from trio_kafka.introspect.waits import group_and_member, member_subject, seconds
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.requests.loopback import InProcessClient
from trio_kafka.requests.parked_call import LimitTurn


@pytest.mark.parametrize(
    ("span_s", "words"),
    [(0.04, "0.0 s"), (3.14, "3.1 s"), (51.4, "51 s"), (600, "10 min"), (9000, "2.5 h")],
)
def test_span_of_time_in_words_has_two_digits(span_s: float, words: str) -> None:
    assert seconds(span_s) == words


@pytest.mark.parametrize("group_id", ["g", "a/b", "50%", "%2F", "?#&", ""])
def test_ids_of_group_and_member_are_read_back_from_the_name_of_the_member(group_id: str) -> None:
    subject = member_subject(group_id, "client/1-%2F")

    assert group_and_member(subject.name) == (group_id, "client/1-%2F")


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Calls of a function or method of that name, each with the module that has it."""
    for path in modules():
        if "testing" in path.parts:
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.Call):
                function = node.func
                called = getattr(function, "attr", getattr(function, "id", None))
                if called == name:
                    yield str(path), node


def test_every_delayed_operation_says_what_it_waits_for() -> None:
    silent = [
        f"{path}:{call.lineno}"
        for path, call in calls("Delayed")
        if len(call.args) < 5 and "about" not in {keyword.arg for keyword in call.keywords}
    ]

    assert silent == []


# Awaited methods by their names, where a call does not name the class.
METHODS: Final = {
    "next_id": ProducerIds,
    "reload": PluginHost,
    "run_now": Scheduler,
    "take": LimitTurn,
    "wait": faults._Delay,
    "wait_released": faults.Fault,
}
# Calls that pass on what they are given.
PASSING_ON: Final = {
    "trio_kafka/plugin_host/context.py": "ask",
    "trio_kafka/plugin_host/served_request.py": "wait",
    "trio_kafka/requests/context.py": "wait",
}


def says_what_it_waits_for(path: str, awaited: ast.expr) -> bool:
    if isinstance(awaited, ast.Attribute):
        owner = METHODS.get(awaited.attr)
        return owner is not None and (
            hasattr(owner, "waits") or declared_wait(getattr(owner, awaited.attr)) is not None
        )
    if isinstance(awaited, ast.Call) and ast.unparse(awaited.func) == "partial":
        return says_what_it_waits_for(path, awaited.args[0])
    name = ast.unparse(awaited)
    if PASSING_ON.get(path) == name:
        return True
    root, *parts = path.removesuffix(".py").split("/")
    module = import_module(".".join([root, *parts] if root == "trio_kafka" else parts))
    return declared_wait(getattr(module, name)) is not None


def test_every_parked_call_says_what_it_waits_for() -> None:
    parked = [(path, call) for path, call in calls("parked") if call.args]

    silent = [
        f"{path}:{call.lineno}: {ast.unparse(call.args[0])}"
        for path, call in parked
        if not says_what_it_waits_for(path, call.args[0])
    ]

    assert len(parked) > 10
    assert silent == []
    assert declared_wait(InProcessClient.ask) is not None
