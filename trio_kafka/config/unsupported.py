"""Kafka settings that are checked but have no effect here, each with the reason; removed settings.

Together with the fields of `BrokerConfig` the tables of `unsupported.toml` hold all broker settings
of Apache Kafka 4.4.0 and the two settings of its authorizer; a test compares them.
`UNSUPPORTED_FIELDS` names the fields of `BrokerConfig` that no code reads yet,
`UNSUPPORTED_TOPIC_SETTINGS` those of `TopicConfig`; a test compares both with the code. The file is
read on first use, so that a start without such settings does not pay for it.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Final, TypedDict

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import Setting, Update
from trio_kafka.config.values import Kind


class Support(Enum):
    """Degree of support for a setting."""

    SUPPORTED = "supported"
    NOT_YET = "is not supported yet"
    NOT_APPLICABLE = "does not apply here"


# Prefixes of settings that Kafka passes to plugins for tiered storage.
OF_KAFKAS_PLUGINS: Final = ("rlmm.config.", "rsm.config.")
_TIERED: Final = "tiered storage is not implemented"
_WITHOUT_FOLLOWERS: Final = "there are no followers while a cluster has one broker"
_NO_OTHER_BROKER: Final = "a broker connects to no other broker"
_ONE_VOTER: Final = "a quorum has one voter"
# Fields of BrokerConfig that no code reads, by reason.
_FIELDS_NOT_YET: Final = {
    "the broker and its controller are one process": """
        broker.heartbeat.interval.ms
    """,
    _ONE_VOTER: """
        controller.quorum.append.linger.ms controller.quorum.election.backoff.max.ms
        controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
        controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
    """,
    "a failed directory is told to the controller at once": "log.dir.failure.timeout.ms",
    _TIERED: """
        log.local.retention.bytes log.local.retention.ms log.remote.copy.lag.bytes
        log.remote.copy.lag.ms
    """,
    _NO_OTHER_BROKER: "ssl.endpoint.identification.algorithm",
    "an idle controller writes nothing": "metadata.max.idle.interval.ms",
    _WITHOUT_FOLLOWERS: """
        num.replica.fetchers replica.fetch.backoff.ms replica.fetch.max.bytes
        replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
        replica.lag.time.max.ms replica.socket.receive.buffer.bytes replica.socket.timeout.ms
        unclean.leader.election.enable
    """,
}
# Settings of topics that no code reads, by reason.
_TOPICS_NOT_YET: Final = {
    "share groups are not implemented": "errors.deadletterqueue.group.enable",
    _WITHOUT_FOLLOWERS: """
        follower.replication.throttled.replicas leader.replication.throttled.replicas
        unclean.leader.election.enable
    """,
    _TIERED: """
        local.retention.bytes local.retention.ms remote.copy.lag.bytes remote.copy.lag.ms
        remote.log.copy.disable remote.log.delete.on.disable
    """,
}


def _by_name(reasons: Mapping[str, str]) -> Mapping[str, str]:
    return {name: why for why, names in reasons.items() for name in names.split()}


_WHY_UNSUPPORTED: Final = _by_name(_FIELDS_NOT_YET)
UNSUPPORTED_FIELDS: Final = frozenset(_WHY_UNSUPPORTED)
UNSUPPORTED_TOPIC_SETTINGS: Final = _by_name(_TOPICS_NOT_YET)


@frozen(kw_only=True)
class Table:
    """Settings with one reason. settings: those of brokers; names: those of other programs."""

    title: str
    support: Support
    why: str
    settings: Mapping[str, Setting]
    names: tuple[str, ...]


class _TableRow(TypedDict, total=False):
    """A `Table` as the file has it; the keys of a setting are the attributes of `Setting`."""

    title: str
    support: str
    why: str
    settings: list[Mapping[str, object]]
    names: str


class _File(TypedDict):
    """Content of `unsupported.toml`. The mappings are advice by name or prefix."""

    table: list[_TableRow]
    removed: Mapping[str, str]
    removed_prefixes: Mapping[str, str]
    deprecated: Mapping[str, str]


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables of `unsupported.toml`."""
    return tuple(map(_table, _read_file()["table"]))


def replacement_of(name: str) -> str | None:
    """Return what to do about a setting that Kafka removed; None for any other name."""
    for prefix, instead in _read_file()["removed_prefixes"].items():
        if name.startswith(prefix):
            return instead
    return _read_file()["removed"].get(name)


def deprecated_settings() -> Mapping[str, str]:
    """Return what to do about each setting that Kafka deprecated, by name."""
    return _read_file()["deprecated"]


@cache
def unsupported_settings() -> Mapping[str, Setting]:
    """Return Kafka's broker settings that are not fields of `BrokerConfig`, by name."""
    return {name: setting for table in tables() for name, setting in table.settings.items()}


@cache
def _read_file() -> "_File":
    # Imported here: a start does without both. importlib.resources would take 20 times as long.
    import pkgutil  # noqa: PLC0415
    import tomllib  # noqa: PLC0415

    content = pkgutil.get_data("trio_kafka.config", "unsupported.toml") or b""
    file: _File = tomllib.loads(content.decode())  # type: ignore[assignment]  # part of the package
    return file


def _table(row: "_TableRow") -> Table:
    settings = map(_setting, row.get("settings", ()))
    return Table(
        title=row["title"],
        support=Support[row["support"]],
        why=row["why"],
        settings={setting.name: setting for setting in settings},
        names=tuple(row.get("names", "").split()),
    )


def _setting(row: Mapping[str, object]) -> Setting:
    facts: dict[str, object] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    facts |= {
        "kind": Kind[str(row["kind"])],
        "update": Update[str(row.get("update", "READ_ONLY"))],
    }
    make: Callable[..., Setting] = Setting
    return make(**{"default": None, **facts})


def support(name: str) -> tuple[Support, str]:
    """Return how far a setting is supported, and why it has no effect.

    A name that Kafka does not have counts as supported.
    """
    if name in UNSUPPORTED_FIELDS:
        return Support.NOT_YET, _WHY_UNSUPPORTED[name]
    if name.startswith(OF_KAFKAS_PLUGINS):
        return Support.NOT_YET, _TIERED
    for table in tables():
        if name in table.settings:
            return table.support, table.why
    return Support.SUPPORTED, ""


def why_unsupported(name: str) -> str | None:
    """Return why a setting has no effect; None if it has one, or if Kafka does not have it."""
    degree, why = support(name)
    return None if degree is Support.SUPPORTED else f"{degree.value}: {why}"
