"""Entries of access control lists, from options and in words."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, TypedDict

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.near_names import nearest
from trio_kafka.clients.admin.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from trio_kafka.security.acls import words

CLUSTER: Final = "kafka-cluster"
RESOURCES: Final[Mapping[str, tuple[ResourceType, str]]] = {
    "topic": (ResourceType.TOPIC, "--topic"),
    "group": (ResourceType.GROUP, "--group"),
    "transactional_id": (ResourceType.TRANSACTIONAL_ID, "--transactional-id"),
    "token": (ResourceType.DELEGATION_TOKEN, "--delegation-token"),
    "user": (ResourceType.USER, "--user-principal"),
}
"""Type of a resource, and the option of Kafka's `kafka-acls.sh` that names one, by our option."""

_NAMED: Final[Mapping[str, type[IntEnum]]] = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": Operation,
    "permission": PermissionType,
}
"""Fields of an entry that are numbers with a name."""


class ResourceOptions(TypedDict):
    """Options of `declare_resources`."""

    topic: Sequence[str]
    group: Sequence[str]
    transactional_id: Sequence[str]
    token: Sequence[str]
    user: Sequence[str]
    cluster: bool
    prefix: bool


def declare_resources(parser: ArgumentParser) -> None:
    """Declare the options that name resources."""
    for option in RESOURCES:
        name = option.replace("_", "-")
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="NAME",
            help="*: all; may be repeated" if option != "user" else "of delegation tokens",
        )
    parser.add_argument("--cluster", action="store_true", help="the cluster itself")
    parser.add_argument(
        "--prefix", action="store_true", help="names are beginnings of names (a prefixed pattern)"
    )


def resources_of(options: ResourceOptions) -> Iterator[tuple[ResourceType, str]]:
    """Yield types and names of the resources."""
    for option, (kind, _) in RESOURCES.items():
        for name in options[option]:  # type: ignore[literal-required]  # keys of RESOURCES
            yield kind, name
    if options["cluster"]:
        yield ResourceType.CLUSTER, CLUSTER


def pattern_of(options: ResourceOptions) -> PatternType:
    return PatternType.PREFIXED if options["prefix"] else PatternType.LITERAL


def parse_operations(text: str) -> list[Operation]:
    """Return operations from names such as `READ,WRITE`, in any case. Raises CommandFailedError."""
    try:
        return words.parse_operations(text)
    except ValueError as error:
        for name in text.split(","):
            word = words.operation_word(name)
            hint = nearest(word, words.OPERATION_NAMES)
            if hint and word not in words.OPERATION_NAMES:
                raise CommandFailedError(f"no operation {name!r}{hint}") from None
        raise CommandFailedError(str(error)) from None


def check_operations(kind: ResourceType, operations: Sequence[Operation]) -> None:
    """Raise CommandFailedError for an operation that a type of resource does not have."""
    try:
        words.check_operations(kind, operations)
    except ValueError as error:
        raise CommandFailedError(str(error)) from None


def check_principal(principal: str) -> str:
    """Return a principal of the form TYPE:NAME. Raises CommandFailedError."""
    kind, colon, name = principal.partition(":")
    if not (kind and colon and name):
        raise CommandFailedError(f"--principal {principal}: want TYPE:NAME, such as User:ann")
    return principal


def acl_data(acl: Acl) -> dict[str, object]:
    """Return an entry for JSON."""
    return {
        name: _NAMED[name](value).name if name in _NAMED else value
        for name, value in acl._asdict().items()
    }


def kafka_words(acl: Acl, bootstrap: str, action: str) -> list[str]:
    """Return the words of `kafka-acls.sh` for an entry. action: `--add` or `--remove`."""
    allows = acl.permission == PermissionType.ALLOW
    kafka = ["kafka-acls.sh", "--bootstrap-server", bootstrap, action]
    kafka += ["--force"] if action == "--remove" else []
    kafka += ["--allow-principal" if allows else "--deny-principal", acl.principal]
    if acl.host != "*":
        kafka += ["--allow-host" if allows else "--deny-host", acl.host]
    operation = Operation(acl.operation).name.split("_")
    kafka += ["--operation", "".join(word.capitalize() for word in operation)]
    if acl.resource_type == ResourceType.CLUSTER:
        return [*kafka, "--cluster"]
    options = dict(RESOURCES.values())
    kafka += [options[ResourceType(acl.resource_type)], acl.name]
    if acl.pattern_type == PatternType.PREFIXED:
        kafka += ["--resource-pattern-type", "prefixed"]
    return kafka


class FilterOptions(ResourceOptions):
    """Options of `declare_filter`."""

    principal: str | None
    host: str | None
    operation: str | None
    covering: bool


def declare_filter(parser: ArgumentParser) -> None:
    """Declare the options of a filter: of each resource, or of all."""
    declare_resources(parser)
    parser.add_argument("--principal", metavar="TYPE:NAME")
    parser.add_argument("--host", metavar="ADDRESS")
    parser.add_argument("--operation", metavar="NAME", help="such as READ, or READ,WRITE")
    parser.add_argument(
        "--covering",
        action="store_true",
        help="all entries that decide about the named resources: prefixes and * too",
    )


def filters_of(options: FilterOptions) -> list[AclFilter]:
    """Return the filters of options; without any, the one that all entries pass."""
    principal, operation = options["principal"], options["operation"]
    resources: list[tuple[int, str | None]] = list(resources_of(options))
    operations = [Operation.ANY] if operation is None else parse_operations(operation)
    pattern = PatternType.ANY
    if resources:
        pattern = PatternType.MATCH if options["covering"] else pattern_of(options)
    return [
        AclFilter(
            resource_type=kind,
            name=name,
            pattern_type=pattern,
            principal=None if principal is None else check_principal(principal),
            host=options["host"],
            operation=each,
        )
        for kind, name in resources or [(ResourceType.ANY, None)]
        for each in operations
    ]
