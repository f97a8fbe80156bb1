"""Changes of settings of topics, brokers, loggers and groups, and the words for resources."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.cli.admin import Change, open_cluster, report
from trio_kafka.cli.near_names import with_nearest_topic
from trio_kafka.clients.admin.config_values import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    OpType,
)

KINDS: Final[Mapping[str, ConfigResourceType]] = {
    "topics": ConfigResourceType.TOPIC,
    "brokers": ConfigResourceType.BROKER,
    "broker-loggers": ConfigResourceType.BROKER_LOGGER,
    "groups": ConfigResourceType.GROUP,
}
"""Kinds of resources, by the word that Kafka's `kafka-configs.sh` has for them."""


def declare_resources(parser: ArgumentParser) -> None:
    """Declare the kind and the name of a resource."""
    parser.add_argument("kind", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "name",
        metavar="RESOURCE",
        help="topic, group or node id; `default` for the defaults of all brokers",
    )


def resource_of(kind: str, name: str) -> ConfigResource:
    """Return a resource by Kafka's word for its kind."""
    is_default = kind == "brokers" and name == "default"
    return ConfigResource(KINDS[kind], "" if is_default else name)


def change_settings(
    kind: str,
    names: Sequence[str],
    values: Mapping[str, str | None],
    *,
    bootstrap: str,
    timeout: float,
    dry_run: bool,
    json: bool,
) -> int:
    """Set values, or their defaults for None, and report it; return the exit status.

    With dry_run the broker checks the values, and changes none.
    """
    operations = [
        AlterConfigOp(name, value, OpType.DELETE if value is None else OpType.SET)
        for name, value in values.items()
    ]
    resources = {resource_of(kind, name): name for name in names}
    with open_cluster(bootstrap, timeout) as admin:
        results = admin.incremental_alter_configs(
            dict.fromkeys(resources, operations), validate_only=dry_run
        )
        errors = {
            resource: with_nearest_topic(admin, error, resource.name)
            for resource, error in results.errors.items()
        }
    changes = {
        resource: _change(kind, name, values, bootstrap) for resource, name in resources.items()
    }
    return report(changes, errors, dry_run=dry_run, json=json)


def _change(kind: str, name: str, values: Mapping[str, str | None], bootstrap: str) -> Change:
    pairs = [f"{setting}={value}" for setting, value in values.items() if value is not None]
    unset = [setting for setting, value in values.items() if value is None]
    kafka = ["kafka-configs.sh", "--bootstrap-server", bootstrap, "--alter"]
    is_default = kind == "brokers" and name == "default"
    kafka += ["--entity-type", kind]
    kafka += ["--entity-default"] if is_default else ["--entity-name", name]
    added = [
        f"{setting}=[{value}]" if "," in value else f"{setting}={value}"
        for setting, value in values.items()
        if value is not None
    ]
    kafka += ["--add-config", ",".join(added)] if added else []
    kafka += ["--delete-config", ",".join(unset)] if unset else []
    words = ", ".join([*pairs, *(f"{setting} to its default" for setting in unset)])
    return Change(
        verb="set",
        words=f"{kind} {name}: {words}",
        kafka=kafka,
        data={"kind": kind, "name": name, "configs": dict(values)},
    )
