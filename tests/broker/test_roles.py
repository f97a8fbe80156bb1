"""Roles: the parts of a broker, and those of a controller that runs without one."""

import re
from pathlib import Path

import pytest

from tests.broker.kit import APIS, config_of
from tests.broker.test_node import node_of
from trio_kafka.broker import Broker
from trio_kafka.broker.node import Stage
from trio_kafka.broker.parts.planes import Planes
from trio_kafka.broker.roles import BROKER, CONTROLLER, ROLES
from trio_kafka.broker.shutdown import SHARES, stop_node
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.controller.controller import Controller
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.requests.throttling.throttle import Throttle

SOURCES = Path(__file__).parents[2] / "trio_kafka" / "broker" / "parts"


def test_every_role_has_at_most_one_part_of_each_class() -> None:
    for parts in ROLES.values():
        kinds = [part.kind for part in parts]
        assert len(set(kinds)) == len(kinds)


def test_every_module_of_a_part_is_used_by_a_role() -> None:
    files = {path.stem for path in SOURCES.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"broker\.parts\.(\w+)", (SOURCES.parent / "roles.py").read_text()))

    assert files == named


def test_every_stop_stage_has_a_time_share_and_a_part_of_the_broker() -> None:
    assert set(SHARES) == set(Stage)
    assert {stage for part in BROKER for stage in part.stops} == set(Stage)


async def test_every_part_of_a_started_broker_is_found_by_its_class(world, autojump_clock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        for part in BROKER:
            assert isinstance(broker[part.kind], part.kind)
            assert broker.parts[part.face or part.kind] is broker[part.kind]


def test_throttle_and_connection_limits_open_before_the_planes() -> None:
    """A HandlerGroup keeps the throttle and the limits; a later one would never be asked."""
    kinds = [part.kind for part in BROKER]

    assert kinds.index(Throttle) < kinds.index(Planes)
    assert kinds.index(ConnectionLimits) < kinds.index(Planes)


@pytest.mark.parametrize("settings", [{}, {"metadata.log.dir": "/m"}])
async def test_controller_node_writes_metadata_that_its_next_start_reads(
    world, autojump_clock, settings: dict[str, str]
) -> None:
    change = ConfigChange("background.threads", Operation.SET, "5")
    defaults = (ConfigResourceType.BROKER, "")
    for is_stored in (False, True):
        async with node_of(world, CONTROLLER, settings) as node:
            await node.open()
            assert (
                "background.threads" in node[MetadataCache].image.configs[defaults]
            ) is is_stored
            results = await node[Controller].alter_configs({defaults: [change]})
            assert results == {defaults: None}
            await stop_node(node, 10)
            assert node.tasks.running == ()

        assert list(node.stop.durations) == ["scheduler", "replication", "controller", "logs"]
        assert world.locks == {}
