"""The source of a test module, in parts that all troubles share."""

from collections.abc import Iterable
from typing import Final

from trio_kafka.protocol.texts import printable
from trio_kafka_admin.copying import loads
from trio_kafka_admin.copying.literals import literal
from trio_kafka_admin.copying.loads import Load
from trio_kafka_admin.copying.trouble import Trouble

_GROUP_APIS: Final = frozenset(
    {
        *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch"),
        *("FindCoordinator", "ConsumerGroupHeartbeat"),
    }
)


def module(
    name: str,
    about: str,
    load: Load,
    body: Iterable[str],
    *,
    imports: Iterable[str] = (),
    fixture: str = "kafka",
) -> str:
    """Return the source. about: a sentence. body: lines of the test."""
    standard = [f"import {module}" for module in imports if module == "time"]
    lines = [
        *([*standard, ""] if standard else []),
        *(f"import {module}" for module in imports if module != "time"),
        f"from confluent_kafka import {load.imports}",
        "",
        "",
        f"def test_{name}({fixture}):",
        f'    """{_sentence(about)}"""',
        *(f"    {line}".rstrip() for line in body),
        "",
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    """Return a text for a docstring."""
    return printable(text).replace("\\", "/").replace('"', "'")


def load_of(trouble: Trouble) -> Load:
    topic = trouble.topic or loads.TOPIC
    if trouble.api == "Produce":
        return loads.produce(topic, trouble.partition, trouble.client_id)
    if trouble.api == "Fetch":
        return loads.fetch(topic, trouble.client_id)
    if trouble.api in _GROUP_APIS:
        return loads.join(topic, trouble.group_id, trouble.client_id)
    return loads.describe(trouble.client_id)


def topic_line(trouble: Trouble) -> str:
    return f"kafka.create_topic({literal(trouble.topic or loads.TOPIC)}, {trouble.partition + 1})"


def inside(block: str, load: Load) -> list[str]:
    """Return a block with the lines of a load inside."""
    return [block, *(f"    {line}" for line in load.lines)]


def fault_of(variable: str, **fields: object) -> str:
    """Return the block of a fault whose APIs are in a variable."""
    return fault(**fields).replace("fault(", f"fault(api={variable}, ", 1)


def fault(**fields: object) -> str:
    said = [f"{name}={literal(value)}" for name, value in fields.items() if value not in ("", None)]
    return f"with kafka.fault({', '.join(said)}) as fault:"
