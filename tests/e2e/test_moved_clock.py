"""The broker's clock moves while Apache Kafka's Java consumer is connected.

`tests/testing/kafka/test_hold.py` has the same with librdkafka.
"""

import subprocess

import pytest

from tests.clients.build import class_path
from tests.clients.console.program import jvm_options
from tests.installed import skipped_if_missing
from tests.lanes import sampled
from trio_kafka import running_broker

pytestmark = pytest.mark.slow
HOUR_MS = 3_600_000
TOOL = "org.apache.kafka.tools.consumer.ConsoleConsumer"


@pytest.mark.parametrize(
    "protocol", sampled(["classic", "consumer"], lambda protocol: protocol == "consumer")
)
def test_java_consumer_stays_in_its_group_when_the_clock_advances_a_week(protocol: str) -> None:
    with skipped_if_missing():
        jars = class_path("tools")
    with running_broker() as kafka:
        kafka.create_topic("orders", configs={"retention.ms": str(24 * HOUR_MS)})
        kafka.produce("orders", b"old")
        command = [
            *("java", *jvm_options(TOOL), "-cp", jars, TOOL),
            *("--bootstrap-server", kafka.bootstrap, "--topic", "orders", "--group", "g"),
            *("--from-beginning", "--max-messages", "2", "--timeout-ms", "40000"),
            *("--command-property", f"group.protocol={protocol}"),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as java:
            assert java.stdout is not None
            before = kafka.wait_for_group("g", state="Stable", members=1, timeout_s=40)
            assert java.stdout.readline() == b"old\n"

            assert kafka.advance(hours=7 * 24) > 1000
            assert kafka.records("orders") == []
            assert kafka.group("g").members == before.members

            kafka.produce("orders", b"new")
            assert java.stdout.readline() == b"new\n"
            assert java.wait(40) == 0
        kafka.wait_for_group("g", state="Empty", timeout_s=40)
