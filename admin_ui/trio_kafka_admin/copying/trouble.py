"""A trouble to copy: what kind it is, and the names and figures that it happened with."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from trio_kafka.attributes import frozen
from trio_kafka.introspect.texts import LONGEST_NAME, shortened
from trio_kafka_admin.query import Query

TroubleKind = Literal[
    "slow-request",
    "slow-handler",
    "blocked-loop",
    "throttled-client",
    "silent-member",
    "crash-loop",
    "lagging-group",
    "waiting-fetch",
    "fault-rule",
    "long-transaction",
    "unmarked-transaction",
    "hanging-transaction",
]
KINDS: Final[tuple[TroubleKind, ...]] = get_args(TroubleKind)
LONGEST_S: Final = 3600


@frozen(kw_only=True)
class Trouble:
    """One trouble. Texts are empty where it has none. seconds: how long something took.

    amount: records of lag, bytes, handlers, or rounds, as the kind says. rule: of `fault-rule`, as
    JSON.
    """

    kind: TroubleKind
    api: str = ""
    client_id: str = ""
    topic: str = ""
    partition: int = 0
    group_id: str = ""
    transactional_id: str = ""
    seconds: float = 1.0
    amount: int = 1
    rule: str = ""

    def parameters(self) -> Mapping[str, str | int]:
        """Return the query of the page that shows it."""
        texts = {
            "api": self.api,
            "client": self.client_id,
            "topic": self.topic,
            "group": self.group_id,
            "transaction": self.transactional_id,
            "rule": self.rule,
        }
        return {
            "kind": self.kind,
            **{name: shortened(text, LONGEST_NAME) for name, text in texts.items() if text},
            "partition": self.partition,
            "ms": round(self.seconds * 1000),
            "amount": self.amount,
        }


def trouble_of(query: Query) -> Trouble:
    """Return the trouble that a page is asked for. Raises HttpError."""
    return Trouble(
        kind=query.one_of("kind", KINDS),
        api=query.text("api"),
        client_id=query.text("client"),
        topic=query.text("topic"),
        partition=query.number("partition", 0, low=0, high=100_000),
        group_id=query.text("group"),
        transactional_id=query.text("transaction"),
        seconds=query.number("ms", 1000, low=0, high=LONGEST_S * 1000) / 1000,
        amount=query.number("amount", 1, low=0, high=10**9),
        rule=query.text("rule"),
    )
