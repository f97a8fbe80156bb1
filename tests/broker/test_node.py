"""A node: its parts are opened in order, found by class, and stopped by stage."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from tests.broker.kit import APIS, config_of
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, Stage, StartOptions, at_once, tasks_end
from trio_kafka.broker.roles import BROKER, CONTROLLER
from trio_kafka.broker.shutdown import SHARES, stop_node
from trio_kafka.broker.tasks import Tasks
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import InvariantError
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.purgatory import Timers
from trio_kafka.requests.parts import Parts


class Lamp:
    """A part for tests; it writes down what happens to it."""

    def __init__(self) -> None:
        self.seen: list[str] = []


@asynccontextmanager
async def node_of(
    world,
    role: Sequence[Part[object]] = CONTROLLER,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Node]:
    """A node with the parts of a role, which are not open yet; released at the end."""
    async with trio.open_nursery() as nursery:
        node = Node(
            role="tested",
            roles={"tested": role, "broker": BROKER, "controller": CONTROLLER},
            world=world,
            config=(config := config_of(settings)),
            tree=TreeNode(f"broker-{config.node_id}", "broker"),
            tasks=Tasks(nursery),
            options=StartOptions(format_if_empty=True),
            handler_parts=Parts(apis=APIS.copy()),
        )
        yield node
        nursery.cancel_scope.cancel()
    node.abandon()


async def test_node_id_is_that_of_the_settings(world) -> None:
    async with node_of(world, settings={"node.id": "5"}) as node:
        assert node.node_id == 5


async def test_open_part_is_found_by_its_class_and_by_its_handlers_name(world) -> None:
    lamp = Lamp()
    role = (Part(kind=Lamp, open=at_once(lambda _: lamp)),)

    async with node_of(world, role) as node:
        await node.open()

        assert node[Lamp] is lamp
        assert node.get(Lamp) is lamp
        assert node.handler_parts[Lamp] is lamp


async def test_lookup_of_a_missing_part_fails_with_the_roles_of_that_part(world) -> None:
    async with node_of(world, ()) as node:
        assert node.get(Lifecycle) is None
        with pytest.raises(KeyError, match="Lifecycle on this tested: a node with the role broker"):
            node[Lifecycle]
        with pytest.raises(
            KeyError, match="Controller on this tested: a node with the role broker or controller"
        ):
            node[Controller]
        with pytest.raises(KeyError, match="Lamp on this tested: no role has it"):
            node[Lamp]


async def test_part_that_is_not_open_is_refused_with_the_reason(world) -> None:
    async with node_of(world) as node:
        with pytest.raises(KeyError, match="Controller of this tested: it is not open, or switch"):
            node[Controller]


async def test_part_that_settings_disable_is_not_found(world) -> None:
    async def nothing(node: Node) -> Lamp | None:
        await trio.lowlevel.checkpoint()
        return None

    async with node_of(world, (Part(kind=Lamp, open=nothing),)) as node:
        await node.open()

        assert node.get(Lamp) is None


async def test_part_that_settings_disable_neither_serves_nor_stops(world, autojump_clock) -> None:
    seen: list[str] = []

    async def nothing(node: Node) -> Lamp | None:
        await trio.lowlevel.checkpoint()
        return None

    async def stop(node: Node) -> None:
        await trio.lowlevel.checkpoint()
        seen.append("stopped")

    part = Part(
        kind=Lamp,
        open=nothing,
        stops=dict.fromkeys(Stage, stop),
        serve=lambda _: seen.append("served"),
    )
    async with node_of(world, (part,)) as node:
        await node.open()
        await stop_node(node, 10)

        assert node.stop.durations == {}
    assert seen == []


async def test_part_of_an_undeclared_class_raises_an_invariant_error(world) -> None:
    async with node_of(world, ()) as node:
        node.add(Timers, Scheduler(node.tree))  # type: ignore[arg-type]
        with pytest.raises(InvariantError, match="the part of Timers is a Scheduler"):
            node[Timers]


async def test_step_duration_is_the_sum_of_its_adjacent_parts(world, autojump_clock) -> None:
    async def slow(node: Node) -> Lamp:
        await trio.sleep(2)
        return Lamp()

    role = (
        Part(kind=Lamp, open=slow, step="light"),
        Part(kind=Timers, open=at_once(lambda node: Timers(node.tree)), step="light"),
        Part(kind=Scheduler, open=at_once(lambda node: Scheduler(node.tree))),
    )
    async with node_of(world, role) as node:
        await node.open()

        assert node.start.durations == {"light": 2.0}


async def test_clients_are_served_only_after_all_parts_are_open(world) -> None:
    lamp = Lamp()

    async def last(node: Node) -> Timers:
        lamp.seen.append("opened")
        await trio.lowlevel.checkpoint()
        return Timers(node.tree)

    role = (
        Part(kind=Lamp, open=at_once(lambda _: lamp), serve=lambda _: lamp.seen.append("served")),
        Part(kind=Timers, open=last),
    )
    async with node_of(world, role) as node:
        await node.open()

    assert lamp.seen == ["opened", "served"]


async def test_parts_stop_by_stage_and_within_a_stage_in_reverse_order(
    world, autojump_clock
) -> None:
    seen: list[str] = []

    def seeing(name: str):
        async def stop(node: Node) -> None:
            await trio.lowlevel.checkpoint()
            seen.append(name)

        return stop

    role = (
        Part(
            kind=Timers,
            open=at_once(lambda node: Timers(node.tree)),
            stops={Stage.LOGS: seeing("timers"), Stage.LEAVING: seeing("timers leave")},
        ),
        Part(
            kind=Lamp,
            open=at_once(lambda _: Lamp()),
            stops={Stage.HANDLERS: seeing("lamp"), Stage.LOGS: seeing("lamp at last")},
        ),
    )
    async with node_of(world, role) as node:
        await node.open()
        await stop_node(node, 10)

        assert seen == ["timers leave", "lamp", "lamp at last", "timers"]
        assert list(node.stop.durations) == ["controlled shutdown", "handlers", "logs"]


async def test_stop_stage_that_exceeds_its_time_is_cancelled_and_the_next_stage_runs(
    world, autojump_clock, caplog
) -> None:
    seen: list[str] = []

    async def never(node: Node) -> None:
        await trio.sleep_forever()

    async def note(node: Node) -> None:
        await trio.lowlevel.checkpoint()
        seen.append("logs")

    lamp = Part(
        kind=Lamp,
        open=at_once(lambda _: Lamp()),
        stops={Stage.PLUGINS: never, Stage.LOGS: note},
    )
    async with node_of(world, (lamp,)) as node:
        await node.open()
        began = trio.current_time()
        await stop_node(node, 10)

        assert trio.current_time() - began == pytest.approx(10 * SHARES[Stage.PLUGINS])
        assert seen == ["logs"]
    assert "stop step cancelled" in caplog.text


async def test_parts_of_the_network_stage_stop_concurrently(world, autojump_clock) -> None:
    waiting = trio.Event()

    async def wait(node: Node) -> None:
        await waiting.wait()

    async def release(node: Node) -> None:
        await trio.lowlevel.checkpoint()
        waiting.set()

    role = (
        Part(kind=Lamp, open=at_once(lambda _: Lamp()), stops={Stage.NETWORK: release}),
        Part(
            kind=Timers,
            open=at_once(lambda node: Timers(node.tree)),
            stops={Stage.NETWORK: wait},
        ),
    )
    async with node_of(world, role) as node:
        await node.open()
        began = trio.current_time()
        await stop_node(node, 10)

        assert trio.current_time() == began


async def test_abandoned_node_releases_resources_once_in_reverse_order(
    world,
) -> None:
    released: list[str] = []
    async with node_of(world, ()) as node:
        node.on_abandon(lambda: released.append("first"))
        node.on_abandon(lambda: released.append("second"))

        node.abandon()
        node.abandon()

    assert released == ["second", "first"]


@pytest.mark.parametrize(
    ("error", "broken"), [(InvariantError("x"), True), (PluginError("x"), False)]
)
async def test_failure_of_any_part_except_a_plugin_breaks_the_node(
    world, error: Exception, broken: bool
) -> None:
    async with node_of(world, ()) as node:
        assert not node.is_broken

        node.tasks.fail(error)

        assert node.is_broken is broken


async def test_tasks_of_a_stopped_part_have_ended(world) -> None:
    async def open_lamp(node: Node) -> Lamp:
        await node.tasks.start("lamp", sleeping)
        return Lamp()

    async def sleeping(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await trio.sleep_forever()

    role = (Part(kind=Lamp, open=open_lamp, stops={Stage.HANDLERS: tasks_end("lamp")}),)
    async with node_of(world, role) as node:
        await node.open()
        assert node.tasks.running == ("lamp",)

        await stop_node(node, 10)

        assert node.tasks.running == ()
