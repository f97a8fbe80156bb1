"""Clients that a quota is about: users, client ids, addresses, and the defaults of each."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.near_names import nearest
from trio_kafka.clients.admin.quotas import ClientQuotaEntity, quota_entity

KINDS: Final[Mapping[str, str]] = {"user": "users", "client-id": "clients", "ip": "ips"}
"""Words of `kafka-configs.sh` by type of entity."""
UNITS: Final[Mapping[str, str]] = {
    "producer_byte_rate": "bytes/s",
    "consumer_byte_rate": "bytes/s",
    "request_percentage": "% of the loop",
    "controller_mutation_rate": "partitions/s",
    "connection_creation_rate": "connections/s",
}


class EntityOptions(TypedDict):
    """Options of `declare_entity`."""

    user: str | None
    client_id: str | None
    ip: str | None
    default: Sequence[str]


class QuotaOptions(EntityOptions, ChangeOptions):
    """Options of a command that changes quotas."""

    quota: Sequence[str]


def declare_entity(parser: ArgumentParser) -> None:
    """Declare the options that name clients."""
    for kind in KINDS:
        parser.add_argument(f"--{kind}", metavar="NAME")
    parser.add_argument(
        "--default",
        action="append",
        choices=list(KINDS),
        default=[],
        help="all of this type without a quota of their own; may be repeated",
    )


def declare_quotas(parser: ArgumentParser, form: str) -> None:
    """Declare the arguments of a change. form: of one quota."""
    parser.add_argument("quota", nargs="+", metavar=form, help=f"one of {', '.join(UNITS)}")
    declare_entity(parser)
    declare_change(parser)


def entity_of(options: EntityOptions) -> dict[str, str | None]:
    """Return names by type, None for a default. Raises CommandFailedError."""
    names: dict[str, str | None] = dict.fromkeys(options["default"])
    for kind, name in (
        ("user", options["user"]),
        ("client-id", options["client_id"]),
        ("ip", options["ip"]),
    ):
        if name is None:
            continue
        if kind in names:
            raise CommandFailedError(f"--{kind} and --default {kind} exclude each other")
        names[kind] = name
    return names


def entity_words(entity: ClientQuotaEntity) -> str:
    """Return the clients of an entity, such as `user=a client-id=(default)`."""
    return " ".join(
        f"{kind}={'(default)' if name is None else name}" for kind, name in reversed(entity.entries)
    )


def check_quota(name: str) -> None:
    """Raise CommandFailedError for a quota that does not exist, with the nearest name."""
    if name not in UNITS:
        hint = nearest(name, list(UNITS)) or f": want one of {', '.join(UNITS)}"
        raise CommandFailedError(f"no quota {name}{hint}")


def change_quotas(options: QuotaOptions, values: Mapping[str, float | None]) -> int:
    """Set quotas of clients, or remove them for None, and report it; return the exit status."""
    names = entity_of(options)
    if not names:
        raise CommandFailedError("give --user, --client-id, --ip or --default")
    for name in values:
        check_quota(name)
    entity = quota_entity(names)
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        results = admin.alter_client_quotas({entity: values}, validate_only=options["dry_run"])
    change = _change(entity, values, options["bootstrap"])
    return report(
        {entity: change}, results.errors, dry_run=options["dry_run"], json=options["json"]
    )


def _change(
    entity: ClientQuotaEntity, values: Mapping[str, float | None], bootstrap: str
) -> Change:
    pairs = [f"{name}={value:.15g}" for name, value in values.items() if value is not None]
    removed = [name for name, value in values.items() if value is None]
    kafka = ["kafka-configs.sh", "--bootstrap-server", bootstrap, "--alter"]
    for kind, name in entity.entries:
        kafka += ["--entity-type", KINDS[kind]]
        kafka += ["--entity-default"] if name is None else ["--entity-name", name]
    kafka += ["--add-config", ",".join(pairs)] if pairs else []
    kafka += ["--delete-config", ",".join(removed)] if removed else []
    words = ", ".join([*pairs, *(f"no {name}" for name in removed)])
    return Change(
        verb="set",
        words=f"quotas of {entity_words(entity)}: {words}",
        kafka=kafka,
        data={"entity": dict(entity.entries), "quotas": dict(values)},
    )
