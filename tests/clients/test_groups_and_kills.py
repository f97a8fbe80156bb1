"""kill -9 of the broker while a group rebalances and commits: members go on, nothing is lost."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.clients.catalogue import REFERENCE, Client
from tests.clients.churn import PARTITIONS, Producing
from tests.clients.cluster import Cluster
from tests.clients.driver import Driver
from tests.clients.members import Group, check_processed
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Size = Callable[[int, int], int]
REBALANCE_S = 3.0  # what a new member brings about lasts about as long
SETTINGS = ("group.initial.rebalance.delay.ms=500", "group.min.session.timeout.ms=1000")


def test_every_record_is_processed_while_the_broker_is_killed_repeatedly(
    drivers: Callable[[Client], Driver], tmp_path: Path, size: Size
) -> None:
    """Each life ends somewhere in a rebalance: a member has come, and another one died."""
    random, kills, port = Random(58), size(2, 50), unused_port()
    bootstrap = f"{LOOPBACK}:{port}"
    cluster = Cluster(
        bootstrap=bootstrap,
        client=REFERENCE,
        driver=lambda _: drivers(REFERENCE),
        reference=lambda: drivers(REFERENCE),
        directory=tmp_path,
    )
    with broker_process(tmp_path / "broker", *SETTINGS, port=port):
        topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, 50)
    with Group(bootstrap, topic, tmp_path) as group:
        members = [group.add(REFERENCE)]
        for _ in range(kills):
            with broker_process(tmp_path / "broker", *SETTINGS, port=port) as broker:
                producing.some_more()
                members.append(group.add(REFERENCE))
                if len(members) > 3:
                    members.pop(0).kill()
                Event().wait(random.uniform(0, REBALANCE_S))
                broker.process.kill()
        with broker_process(tmp_path / "broker", *SETTINGS, port=port):
            producing.some_more()
            group.wait_processed(producing.count)
            for member in members:
                member.leave()

            check_processed(group, producing.file)
