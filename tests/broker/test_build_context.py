import trio

from tests.broker.kit import config_of
from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.tasks import Tasks
from trio_kafka.introspect.tree import Node


async def test_the_node_of_a_site_is_that_of_its_settings(world) -> None:
    async with trio.open_nursery() as nursery:
        root = Node("broker-5", "broker")
        context = BuildContext(
            world=world, config=config_of(node_id="5"), node=root, tasks=Tasks(nursery)
        )

    assert context.node_id == 5
