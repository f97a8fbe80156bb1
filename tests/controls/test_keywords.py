"""A misspelled argument is named with the one that was meant, in each face of the kit."""

import asyncio

import pytest

from trio_kafka.controls.faults import FaultRule
from trio_kafka.controls.keywords import check_keywords, suggesting
from trio_kafka.controls.values import Record
from trio_kafka.testing.kafka.threaded import running_broker


@pytest.fixture(scope="module")
def kafka():
    with running_broker(topics=["orders"]) as kafka:
        yield kafka


CALLS = {
    "wait_for_records": (lambda kafka: kafka.wait_for_records("orders", 1, timeout=1), "timeout_s"),
    "wait_for_group": (lambda kafka: kafka.wait_for_group("g", member=1), "members"),
    "wait_until": (lambda kafka: kafka.wait_until(bool, timeouts=1), "timeout_s"),
    "advance": (lambda kafka: kafka.advance(hour=1), "hours"),
    "create_topic": (lambda kafka: kafka.create_topic("t", config={}), "configs"),
    "records": (lambda kafka: kafka.records("orders", partitions=1), "partition"),
    "fault": (lambda kafka: kafka.fault(api="Produce", drops=True), "drop"),
    "requests": (lambda kafka: kafka.controls.requests("Produce", client="a"), "client_id"),
    "wait_for_requests": (
        lambda kafka: kafka.controls.wait_for_requests(1, timeout=1),
        "timeout_s",
    ),
    "running_broker": (lambda kafka: running_broker(setting={}), "settings"),
    "Record": (lambda kafka: Record(valeu="a"), "value"),
    "FaultRule": (lambda kafka: FaultRule(tims=1), "times"),
}


@pytest.mark.parametrize("name", CALLS)
def test_error_for_a_misspelled_argument_suggests_the_right_name(kafka, name):
    call, meant = CALLS[name]
    with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
        call(kafka)


def test_misspelled_argument_of_async_methods_gets_a_suggestion(kafka):
    async def in_asyncio():
        await kafka.aio.wait_for_records("orders", 1, timeout=1)

    async def in_loop():
        await kafka.in_loop.wait_for_records("orders", 1, timeout=1)

    for call in (lambda: asyncio.run(in_asyncio()), lambda: kafka.thread.call(in_loop)):
        with pytest.raises(TypeError, match="did you mean 'timeout_s'"):
            call()


def test_error_for_an_unknown_argument_lists_all_arguments(kafka):
    with pytest.raises(TypeError, match=r"'xyz': There are partition, start$"):
        check_keywords("records", ["xyz"], ["self", "partition", "start"])


def test_function_with_arbitrary_keyword_arguments_is_not_wrapped():
    def takes_all(**conditions):
        return conditions

    assert suggesting(takes_all) is takes_all
