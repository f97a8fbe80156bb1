"""docs/how-to/from-other-clients.md: calls and settings that it names exist in each client."""

import inspect
import re
import warnings

import aiokafka
import confluent_kafka
import pytest

from tests.project.tree import ROOT
from trio_kafka.clients import Consumer, Producer, Transaction, errors
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.load import declared_settings
from trio_kafka.clients.settings.producer import ProducerSettings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # as kafka-python reads its schemas
    import kafka

PAGE = (ROOT / "docs" / "how-to" / "from-other-clients.md").read_text()
CLASSES = {
    "Produce": (
        aiokafka.AIOKafkaProducer,
        kafka.KafkaProducer,
        confluent_kafka.Producer,
    ),
    "Consume": (
        aiokafka.AIOKafkaConsumer,
        kafka.KafkaConsumer,
        confluent_kafka.Consumer,
    ),
}
OWN = {"producer": Producer, "consumer": Consumer, "transaction": Transaction}
FUNCTIONS = {"next"}


def rows(section: str) -> list[list[str]]:
    """Cells of the rows of a section's table, without its head."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("section", CLASSES)
def test_calls_of_other_clients_on_the_page_exist(section: str) -> None:
    for row in rows(section):
        for kind, cell in zip(CLASSES[section], row[1:4], strict=True):
            for call in re.findall(r"(?<![\w.])([a-z_]+)\(", cell):
                assert call in FUNCTIONS or hasattr(kind, call), f"{kind}.{call}"


@pytest.mark.parametrize("section", CLASSES)
def test_calls_of_our_clients_on_the_page_exist(section: str) -> None:
    calls = [
        re.findall(r"\b(producer|consumer|transaction)\.(\w+)", row[4]) for row in rows(section)
    ]

    assert sum(map(len, calls)) > 5
    assert [
        f"{name}.{call}" for row in calls for name, call in row if not hasattr(OWN[name], call)
    ] == []


def test_defaults_on_the_page_are_those_of_each_client() -> None:
    own = {**declared_settings(ConsumerSettings), **declared_settings(ProducerSettings)}
    numbers = [row for row in rows("Settings") if row[4].isdigit()]
    producers = {**kafka.KafkaProducer.DEFAULT_CONFIG}
    parameters = {
        name: parameter.default
        for kind in (aiokafka.AIOKafkaConsumer, aiokafka.AIOKafkaProducer)
        for name, parameter in inspect.signature(kind).parameters.items()
    }
    for setting, of_aiokafka, of_kafka_python, _, ours in numbers:
        name = setting.strip("`").replace(".", "_")
        both = {**kafka.KafkaConsumer.DEFAULT_CONFIG, **producers}
        assert str(own[setting.strip("`")].default) == ours
        assert str(both[name]) == of_kafka_python
        if of_aiokafka.isdigit():
            assert str(parameters[name]) == of_aiokafka
    assert len(numbers) == 4
    assert parameters["enable_idempotence"] is False
    assert producers["enable_idempotence"] is True


def test_errors_of_our_clients_on_the_page_exist() -> None:
    names = {name for row in rows("Errors")[:-1] for name in re.findall(r"`(\w+Error)`", row[3])}

    assert names
    assert [name for name in sorted(names) if not hasattr(errors, name)] == []
