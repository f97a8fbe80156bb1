"""Random cases of authorization: entries and requests, chosen so that they often meet.

python -m tests.security.acls.oracle.cases    write the recorded cases, decided by Apache Kafka
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from attrs import asdict, frozen

from tests.oracle import answers
from trio_kafka.config.authorizer import split_super_users
from trio_kafka.security.acls.entries import Acl, PatternType, PermissionType
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import parse_principal
from trio_kafka.security.resources import Resource, ResourceType

RECORDED: Final = Path(__file__).parents[1] / "data" / "decisions-of-kafka-4.4.jsonl"
_TYPES: Final = (ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.USER)
_OPERATIONS: Final = tuple(Operation)[2:]
_PRINCIPALS: Final = ("User:ann", "User:bob", "User:a:b", "Group:ann", "User:ANONYMOUS")
_HOSTS: Final = (
    "10.0.0.1",
    "10.0.1.9",
    "192.168.3.4",
    "0.0.0.0",
    "::1",
    "fd00::12",
    "::ffff:10.0.0.1",
)
_ENTRY_HOSTS: Final = (
    *(["*"] * 8),
    *_HOSTS,
    *("10.0.0.0/8", "10.0.0.1/32", "10.0.0.0/24", "10.0.1.7/31", "0.0.0.0/0", "255.0.0.0/1"),
    *("::/0", "::1/128", "fd00::/8", "fd00::13/127", "::ffff:10.0.0.0/104", "0:0:0:0:0:0:0:1"),
    *(
        "fd00:0:0:0:0:0:0:12",
        "10.0.0.0/33",
        "10.0.0/8",
        "x/8",
        "::1/129",
        "10.0.0.0/+8",
        "::1/+128",
    ),
)
_LETTERS: Final = "ab*-"


@frozen
class Case:
    """One authorizer, its requests, and the decisions of Kafka as digits: 1 is allowed.

    acls: fields of an Acl. requests: principal, host, operation, type and name, or no name.
    """

    super_users: str
    allow_unmatched: bool
    acls: list[list[Any]]
    requests: list[list[Any]]
    decisions: str = ""


def random_case(seed: int, requests: int) -> Case:
    chance = random.Random(seed)
    names = [_name(chance) for _ in range(chance.randint(2, 12))]
    acls = {_acl(chance, names) for _ in range(chance.choice((0, 1, 3, 10, 40)))}
    return Case(
        super_users=chance.choice(("", "", "User:ann", " User:bob ; Group:ann;")),
        allow_unmatched=chance.random() < 0.3,
        acls=[list(acl) for acl in sorted(acls)],
        requests=[_request(chance, names) for _ in range(requests)],
    )


def _name(chance: random.Random) -> str:
    if chance.random() < 0.2:
        return chance.choice(("*", "hardcode", "h", "harde", "\N{GRINNING FACE}", "\uffff", "!"))
    return "".join(chance.choice(_LETTERS) for _ in range(chance.randint(1, 5)))


def _acl(chance: random.Random, names: list[str]) -> Acl:
    return Acl(
        chance.choice(_TYPES),
        chance.choice(names),
        chance.choice((PatternType.LITERAL, PatternType.PREFIXED)),
        chance.choice((*_PRINCIPALS, "User:*")),
        chance.choice(_ENTRY_HOSTS),
        chance.choice(_OPERATIONS),
        chance.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
    )


def _request(chance: random.Random, names: list[str]) -> list[Any]:
    name: str | None = chance.choice(names) + chance.choice(("", "", "a", "b*"))
    if chance.random() < 0.25:
        name = None
    return [
        chance.choice(_PRINCIPALS),
        chance.choice(_HOSTS),
        int(chance.choice(_OPERATIONS)),
        int(chance.choice(_TYPES)),
        name,
    ]


def decide(case: Case) -> str:
    """Return our decisions."""
    authorizer = StandardAuthorizer(
        split_super_users(case.super_users), allow_unmatched=case.allow_unmatched
    )
    authorizer.loaded = True
    for acl in case.acls:
        authorizer.index.add(Acl(*acl))
    return "".join("01"[_allows(authorizer, *request)] for request in case.requests)


def _allows(
    authorizer: StandardAuthorizer,
    principal_text: str,
    host: str,
    operation_code: int,
    type_code: int,
    name: str | None,
) -> bool:
    principal, operation = parse_principal(principal_text), Operation(operation_code)
    if name is None:
        return authorizer.authorize_any(principal, host, operation, ResourceType(type_code))
    resource = Resource(ResourceType(type_code), name)
    return authorizer.authorize(principal, host, operation, resource)


def decided_by_kafka(cases: Iterable[Case]) -> list[str]:
    """Return the decisions of Kafka. Raises MissingError if Java or Maven is not there."""
    return answers(Path(__file__).parent, (json.dumps(asdict(case)) for case in cases))


def recorded() -> Iterator[Case]:
    for line in RECORDED.read_text().splitlines():
        yield Case(**json.loads(line))


def main() -> int:
    cases = [random_case(seed, requests=20) for seed in range(1000, 1050)]
    decisions = decided_by_kafka(cases)
    lines = [
        json.dumps(asdict(case) | {"decisions": decided}, separators=(",", ":"))
        for case, decided in zip(cases, decisions, strict=True)
    ]
    RECORDED.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
