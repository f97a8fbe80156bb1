"""Declarations of what functions wait for."""

from functools import partial

from trio_kafka.introspect.declared_waits import (
    CONTROLLER,
    declared_wait,
    waits_for,
    waits_for_its_argument,
)
from trio_kafka.introspect.waits import Subject, Wait


@waits_for("change", CONTROLLER, "the controller to act", then="it is late")
async def act(number: int) -> None:
    del number


class Jobs:
    @waits_for_its_argument("change", "job", "a run of job {}")
    async def run(self, name: str) -> None:
        del name


def test_function_declares_what_it_waits_for() -> None:
    wait = Wait(cause="change", words="the controller to act", on=CONTROLLER, then="it is late")

    assert declared_wait(act, (1,)) == wait
    assert declared_wait(partial(partial(act), 1)) == wait


def test_declaration_names_the_first_argument_of_a_method() -> None:
    expected = Wait(cause="change", words="a run of job {x}", on=Subject("job", "{x}"))

    assert declared_wait(Jobs().run, ("{x}", 3)) == expected
    assert declared_wait(partial(Jobs().run, "{x}")) == expected


def test_function_without_a_declaration_declares_nothing() -> None:
    assert declared_wait(print) is None
