"""One listener: started when it can serve, its socket closed when it stops accepting."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.tree import Node
from trio_kafka.network.listener import serve_listener
from trio_kafka.network.turn import Turn
from trio_kafka.testing.simulation import simulated_world


class Worker:
    """A processor that takes whatever comes."""

    def __init__(self) -> None:
        self.running = False
        self.taken: list[object] = []

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        self.running = True
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            self.running = False

    def give_nowait(self, socket: object) -> None:
        self.taken.append(socket)


async def test_accepting_can_stop_while_connections_go_on(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    world = simulated_world()
    listener = await world.network.listen("127.0.0.1", 0)
    worker, node = Worker(), Node("listener", "listener")
    opened, accepting = trio.Event(), trio.CancelScope()

    async def serve(*, task_status: trio.TaskStatus[object]) -> None:
        await serve_listener(
            listener,
            [worker],  # type: ignore[list-item]
            Turn(world.clock.elapsed),
            node,
            name="acceptor",
            opened=opened,
            accepting=accepting,
            task_status=task_status,
        )

    address = await nursery.start(serve)
    assert address == listener.address
    assert worker.running
    await world.network.connect("127.0.0.1", address.port)
    await trio.sleep(1)
    assert worker.taken == []

    opened.set()
    await trio.sleep(1)
    assert len(worker.taken) == 1
    assert [child.name for child in node.children] == ["acceptor"]

    accepting.cancel()
    await wait_all_tasks_blocked()
    assert worker.running
    assert node.children == ()
    nursery.cancel_scope.cancel()
