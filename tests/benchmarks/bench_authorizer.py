"""Cost of a decision of the standard authorizer, with 10,000 access control entries.

    python -m tests.benchmarks.bench_authorizer

Each row is the CPU time of one decision, the least of several rounds over different requests: for
one topic of many (half of the entries are prefixes) and for any resource of a type, with a bound of
5 µs. The last two rows are the worst that entries can do.
"""

import gc
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from trio_kafka.security.acls.entries import Acl, PatternType, PermissionType
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import USER, Principal
from trio_kafka.security.resources import Resource, ResourceType

ACLS: Final = 10_000
REQUESTS: Final = 10_000
ROUNDS: Final = 7
HOST: Final = "10.1.2.3"
PRINCIPALS: Final = tuple(Principal(USER, f"user-{number}") for number in range(50))
TEAMS: Final = ("billing", "shop", "search", "fraud", "mail", "stock")
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
TOPIC: Final = ResourceType.TOPIC

Requests = Sequence[tuple[Any, ...]]


def names(chance: random.Random) -> list[str]:
    """Names as teams give them: `shop.orders-17.v2`, of 10 to 30 characters."""
    return [
        f"{chance.choice(TEAMS)}.{chance.randbytes(chance.randint(2, 8)).hex()}-{number}.v2"
        for number in range(ACLS)
    ]


def authorizer_of(acls: Sequence[Acl]) -> tuple[StandardAuthorizer, float]:
    """Return an authorizer with entries, and the time that one takes to be added in µs."""
    authorizer = StandardAuthorizer()
    begin = time.process_time()
    for acl in acls:
        authorizer.index.add(acl)
    authorizer.loaded = True
    return authorizer, (time.process_time() - begin) * 1e6 / len(acls)


def microseconds(decide: Callable[..., bool], requests: Requests) -> float:
    """Return the CPU time of one decision in µs, the least of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for request in requests:
            decide(*request)
        best = min(best, (time.process_time() - begin) * 1e6 / len(requests))
    return best


def main() -> None:
    gc.disable()  # the broker collects rarely, too
    chance = random.Random(1)
    topics = names(chance)
    patterns = (PatternType.LITERAL, PatternType.PREFIXED)
    acls = [
        Acl(
            TOPIC,
            name if number % 2 else name[: name.index("-") + 2],
            patterns[not number % 2],
            chance.choice(PRINCIPALS).text,
            "*",
            chance.choice((Operation.READ, Operation.WRITE, Operation.ALL)),
            DENY if chance.random() < 0.1 else ALLOW,
        )
        for number, name in enumerate(topics)
    ]
    authorizer, added = authorizer_of(list(dict.fromkeys(acls)))
    many = [
        (chance.choice(PRINCIPALS), HOST, Operation.READ, Resource(TOPIC, chance.choice(topics)))
        for _ in range(REQUESTS)
    ]
    print(f"{'an entry is added':45} {added:6.2f} µs")
    print(f"{'one of 10,000 topics':45} {microseconds(authorizer.authorize, many):6.2f} µs")
    print(f"{'the same topic':45} {microseconds(authorizer.authorize, many[:1] * 10_000):6.2f} µs")
    any_topic = [(principal, HOST, Operation.WRITE, TOPIC) for principal in PRINCIPALS] * 100
    print(f"{'any topic':45} {microseconds(authorizer.authorize_any, any_topic):6.2f} µs")
    reader, prefixed = PRINCIPALS[0].text, PatternType.PREFIXED
    nested, _ = authorizer_of(
        [
            Acl(TOPIC, "a" * size, prefixed, reader, "*", Operation.READ, ALLOW)
            for size in range(1, 250)
        ]
    )
    deep = [(PRINCIPALS[0], HOST, Operation.READ, Resource(TOPIC, "a" * 249))] * 1000
    print(
        f"{'a topic below 249 nested prefixes':45} {microseconds(nested.authorize, deep):6.2f} µs"
    )
    ranges, _ = authorizer_of(
        [
            Acl(TOPIC, "t", PatternType.LITERAL, reader, host, Operation.READ, ALLOW)
            for host in {f"10.{n % 256}.{n // 256}.0/{24 - n % 8}" for n in range(ACLS)}
        ]
    )
    in_range = [(PRINCIPALS[0], HOST, Operation.READ, Resource(TOPIC, "t"))] * 1000
    print(
        f"{'a host in one of 10,000 ranges':45} {microseconds(ranges.authorize, in_range):6.2f} µs"
    )


if __name__ == "__main__":
    main()
