"""Copied tests run, and make the trouble happen."""

import ast
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka import running_broker
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_admin.copying.source import source_of
from trio_kafka_admin.copying.trouble import KINDS, Trouble
from trio_kafka_http.asgi_json import HttpError

RULE = '{"name": "x", "api": "Produce", "topic": "ledger-*", "delay_s": 0.1}'
TROUBLES = {
    kind: Trouble(
        kind=kind,
        client_id="imp'orter",
        topic="ledger",
        partition=1,
        group_id='settle"ment',
        transactional_id="pay'ments",
        seconds=0.2,
        amount=3,
        rule=RULE,
    )
    for kind in KINDS
}
SLOW_REQUESTS = {
    f"slow-{api}": Trouble(kind="slow-request", api=api, topic="ledger", seconds=0.1)
    for api in ("Produce", "Fetch", "OffsetCommit", "Metadata")
}


def function_of(source: str) -> Callable[[Kafka], None]:
    """The test function of a module."""
    names: dict[str, Any] = {}
    exec(compile(source, "copied", "exec"), names)
    [function] = [value for name, value in names.items() if name.startswith("test_")]
    return function


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [pytest.param(value, id=name) for name, value in {**TROUBLES, **SLOW_REQUESTS}.items()],
)
def test_a_copied_test_passes_because_its_trouble_happens(trouble: Trouble) -> None:
    run = function_of(source_of(trouble))

    with running_broker() as kafka:
        run(kafka)


@pytest.mark.slow
def test_a_copied_fault_fails_where_its_requests_do_not_come() -> None:
    source = source_of(Trouble(kind="slow-request", api="Produce", topic="ledger", seconds=0.1))

    elsewhere = source.replace('produce("ledger"', 'produce("other"')

    with running_broker() as kafka, pytest.raises(AssertionError):
        function_of(elsewhere)(kafka)


HOSTILE = st.text(min_size=1, max_size=60) | st.sampled_from(
    ['"""\nimport os\n"""', "\\", "'\"", "\u202e", "\x00", "a" * 40_000, "{x}", "');exit('"]
)


@given(kind=st.sampled_from(KINDS), name=HOSTILE)
def test_hostile_names_become_literals_and_docstrings_only(kind: Any, name: str) -> None:
    trouble = Trouble(
        kind=kind,
        api=name,
        client_id=name,
        topic=name,
        group_id=name,
        transactional_id=name,
        rule='{"client_id": "x"}',
    )
    plain = Trouble(
        kind=kind,
        api="x",
        client_id="x",
        topic="x",
        group_id="x",
        transactional_id="x",
        rule='{"client_id": "x"}',
    )

    assert shape(source_of(trouble)) == shape(source_of(plain))
    assert source_of(trouble).replace("\n", "").isprintable()


def shape(source: str) -> list[str]:
    """Kinds of the nodes of a module, without those that tell an empty name from another."""
    tree = ast.parse(source)
    return [type(node).__name__ for node in ast.walk(tree) if isinstance(node, ast.stmt)]


@pytest.mark.parametrize("rule", ["", "[]", "{", '{"a b": 1}', '{"x": NaN}'])
def test_a_rule_that_is_no_object_of_fields_is_refused(rule: str) -> None:
    with pytest.raises(HttpError, match="rule"):
        source_of(Trouble(kind="fault-rule", rule=rule))
