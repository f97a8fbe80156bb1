"""Changes of settings as clients ask for them; tests/apis has them over the protocol."""

import logging
from collections.abc import Sequence

import pytest
import trio
from attrs import frozen

from tests.controller.kit import running_controller
from tests.raft.kit import format_root
from trio_kafka.controller.config_admin import ConfigAdmin, ResourceChanges, check_broker
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import NodeId

TOPIC, BROKER, LOGGER = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.BROKER,
    ConfigResourceType.BROKER_LOGGER,
)
SET, DELETE = 0, 1


@frozen
class Item:
    name: str
    value: str | None = None


def single(kind: int, name: str, *settings: Item, operation: int = SET) -> ResourceChanges:
    return ResourceChanges(
        resource=(kind, name), settings=settings, operations=[operation] * len(settings)
    )


def codes(errors: Sequence[KafkaError | None]) -> list[int]:
    return [0 if error is None else error.code for error in errors]


async def test_each_resource_of_a_config_change_has_its_own_result_in_request_order(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="t"), NewTopic(name="u")])
        admin = ConfigAdmin(NodeId(1), running.controller, timeout_s=30)

        errors = await admin.alter(
            [
                single(TOPIC, "t", Item("a", "1")),
                single(TOPIC, "none", Item("a", "1")),
                ResourceChanges(resource=(TOPIC, "u"), settings=[Item("b", "2")]),
                single(BROKER, "1", Item("c", "3")),
                single(BROKER, "2", Item("c", "3")),
            ]
        )

        assert codes(errors) == [
            0,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            0,
            0,
            ErrorCode.INVALID_REQUEST,
        ]
        assert running.image.config(TOPIC, "t") == {"a": "1"}
        assert running.image.config(TOPIC, "u") == {"b": "2"}
        assert running.image.config(BROKER, "1") == {"c": "3"}


async def test_a_config_change_beyond_its_timeout_returns_request_timed_out(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="t")])
        admin = ConfigAdmin(NodeId(1), running.controller, timeout_s=0)

        for change in (
            single(TOPIC, "t", Item("a", "1")),
            ResourceChanges(resource=(TOPIC, "t"), settings=[]),
        ):
            errors = await admin.alter([change])
            assert codes(errors) == [ErrorCode.REQUEST_TIMED_OUT]


async def test_a_logger_change_with_an_unknown_logger_changes_no_logger(
    world, autojump_clock
) -> None:
    await format_root(world)
    logger = logging.getLogger("trio_kafka.tests.admin")
    async with running_controller(world) as running:
        admin = ConfigAdmin(NodeId(1), running.controller, timeout_s=30)
        changes = Item(logger.name, "ERROR"), Item("none", "ERROR")
        try:
            assert codes(await admin.alter([single(LOGGER, "1", *changes)])) == [
                ErrorCode.INVALID_CONFIG
            ]
            assert logger.level == logging.NOTSET
            assert codes(await admin.alter([single(LOGGER, "1", changes[0])])) == [0]
            assert logger.level == logging.ERROR
            gone = single(LOGGER, "1", Item(logger.name), operation=DELETE)
            assert codes(await admin.alter([gone])) == [0]
            assert logger.level == logging.NOTSET
        finally:
            logger.setLevel(logging.NOTSET)


async def test_a_config_change_without_an_active_controller_returns_not_controller(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        controller = running.controller
    admin = ConfigAdmin(NodeId(1), controller, timeout_s=30)

    errors = await admin.alter([single(BROKER, "", Item("a", "1"))])

    assert codes(errors) == [ErrorCode.NOT_CONTROLLER]


@pytest.mark.parametrize("name", ["2", "-1", "", "x", "1.0", "\u0661", "99999999999", "--1", "+1"])
def test_check_broker_refuses_every_name_but_the_own_broker_id(name: str) -> None:
    with pytest.raises(KafkaError) as caught:
        check_broker(name, NodeId(1))

    assert caught.value.code is ErrorCode.INVALID_REQUEST
    check_broker("1", NodeId(1))


@pytest.mark.parametrize("good", [True, False])
async def test_other_tasks_run_during_a_config_change_of_a_thousand_resources(
    world, autojump_clock, good: bool
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="t")])
        admin = ConfigAdmin(NodeId(1), running.controller, timeout_s=30)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await trio.lowlevel.checkpoint()
                turns += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            kind, name = (BROKER, "1") if good else (TOPIC, "none")
            changes = (
                single(kind, name if not number else f"{name}{number}", Item("a", str(number)))
                for number in range(1000)
            )
            errors = await admin.alter(changes, validate_only=True)
            nursery.cancel_scope.cancel()

    assert codes(errors)[0] == (0 if good else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert len(errors) == 1000
    # 200 that are checked, 8 that are decided on, at a time; only broker 1 is decided on.
    assert turns > (8 if good else 100)
