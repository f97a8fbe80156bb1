"""Entries of access control lists in words: `allow User:ann to READ topic orders*`.

A `*` at the end of a name makes a prefix, a `*` alone stands for every resource of the type.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.config.authorizer import split_principal
from trio_kafka.security.acls.entries import ANYTHING, Acl, PatternType, PermissionType
from trio_kafka.security.operations import Operation, bits, operations_in
from trio_kafka.security.principal import USER
from trio_kafka.security.resources import OPERATIONS, THE_CLUSTER, ResourceType

SUPPORTED: Final[Mapping[ResourceType, int]] = {
    **OPERATIONS,
    ResourceType.TRANSACTIONAL_ID: bits(
        (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT)
    ),
    ResourceType.DELEGATION_TOKEN: bits((Operation.DESCRIBE,)),
    ResourceType.USER: bits((Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS)),
}
"""Bit field of the operations that a type of resource has, beside ALL.

A broker stores entries with others too, which decide nothing; Kafka's own tool refuses them.
Source: AclEntry.supportedOperations of Apache Kafka 4.3.0."""

OPERATION_NAMES: Final = tuple(operation.name for operation in Operation if operation > 1)
_TYPES: Final[Mapping[str, ResourceType]] = {
    kind.name.lower().replace("_", " "): kind for kind in SUPPORTED
}
_SENTENCE: Final = re.compile(
    r"(?P<permission>allow|deny)\s+(?P<principal>\S+)(?:\s+from\s+(?P<host>\S+))?\s+to\s+"
    r"(?P<operations>[\w-]+(?:\s*,\s*[\w-]+)*)\s+"
    rf"(?P<type>{'|'.join(_TYPES)})(?:\s+(?P<name>.*\S))?\s*"
)
_FORM: Final = "want such as 'allow ann to READ,WRITE topic orders*'"


def acl_words(acl: Acl) -> str:
    """Return an entry as a sentence, such as `allow User:ann to READ topic orders`."""
    permission = "allow" if acl.permission == PermissionType.ALLOW else "deny"
    host = "" if acl.host == ANYTHING else f" from {acl.host}"
    operation = Operation(acl.operation).name
    return f"{permission} {acl.principal}{host} to {operation} {resource_words(acl)}"


def resource_words(acl: Acl) -> str:
    """Return the resource of an entry, such as `topic orders*` for a prefix."""
    kind = ResourceType(acl.resource_type).name.lower().replace("_", " ")
    prefix = ANYTHING if acl.pattern_type == PatternType.PREFIXED else ""
    return f"{kind} {acl.name}{prefix}"


def parse_acls(sentence: str) -> list[Acl]:
    """Return the entries of a sentence, one for each operation. Raises ValueError, which quotes it.

    Beside what `acl_words` returns: several operations, with commas; a principal without a type is
    a user; `cluster` needs no name.
    """
    match = _SENTENCE.fullmatch(sentence.strip())
    if match is None:
        types = ", ".join(_TYPES)
        raise ValueError(f"ACL {sentence!r}: {_FORM}; resources: {types}; before 'to': from HOST")
    kind = _TYPES[match["type"]]
    try:
        principal = match["principal"]
        if ":" not in principal:
            principal = f"{USER}:{principal}"
        split_principal(principal)
        operations = parse_operations(match["operations"])
        check_operations(kind, operations)
        name, pattern = _pattern(kind, match["name"])
    except ValueError as error:
        raise ValueError(f"ACL {sentence!r}: {error}") from None
    permission = PermissionType[match["permission"].upper()]
    host = match["host"] or ANYTHING
    return [
        Acl(kind, name, pattern, principal, host, operation, permission) for operation in operations
    ]


def parse_operations(text: str) -> list[Operation]:
    """Return operations from names such as `READ,WRITE`, in any case. Raises ValueError."""
    operations = []
    for name in text.split(","):
        word = operation_word(name)
        if word not in OPERATION_NAMES:
            raise ValueError(f"no operation {name!r}: want one of {', '.join(OPERATION_NAMES)}")
        operations.append(Operation[word])
    return operations


def operation_word(name: str) -> str:
    """Return the name of an operation as Kafka writes it: `describe-configs` has an underscore."""
    return name.strip().upper().replace("-", "_")


def check_operations(kind: ResourceType, operations: Sequence[Operation]) -> None:
    """Raise ValueError for an operation that a type of resource does not have."""
    supported = [Operation.ALL, *operations_in(SUPPORTED[kind])]
    for operation in operations:
        if operation not in supported:
            names = ", ".join(each.name for each in supported)
            resource = kind.name.lower().replace("_", " ")
            raise ValueError(
                f"{operation.name} is no operation on a {resource}: want one of {names}"
            )


def _pattern(kind: ResourceType, name: str | None) -> tuple[str, PatternType]:
    if kind is ResourceType.CLUSTER:
        if name not in (None, THE_CLUSTER.name):
            raise ValueError(f"the cluster is called {THE_CLUSTER.name}: leave {name!r} out")
        return THE_CLUSTER.name, PatternType.LITERAL
    if name is None:
        raise ValueError(f"no name follows {kind.name.lower()}: want a name, or *")
    if name != ANYTHING and name.endswith(ANYTHING):
        return name[:-1], PatternType.PREFIXED
    return name, PatternType.LITERAL
