"""One `kafka.*` option: honoured, ignored with the reason, or refused with the reason."""

from collections.abc import Iterator
from enum import Enum

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.values import Parser, integer


class Use(Enum):
    """Treatment of an option that is given."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REFUSED = "refused"


class Side(Enum):
    """The side that an option is refused on; the other side ignores it."""

    READ = "read"
    WRITE = "write"
    BOTH = "both"


@frozen(kw_only=True)
class KafkaOption:
    """One option, without the prefix `kafka.`.

    target: field of ClientSettings that holds the value. note: for users; what the option does
    here, or why it does nothing, or why it is refused. secret: the value is a password, or holds
    one. default: ours, as text.
    """

    name: str
    use: Use
    note: str
    target: str | None = None
    parse: Parser = integer()
    secret: bool = False
    default: str = ""
    side: Side = Side.BOTH

    def is_refused(self, *, for_writing: bool) -> bool:
        """The option is an error on this side."""
        side = Side.WRITE if for_writing else Side.READ
        return self.use is Use.REFUSED and self.side in (Side.BOTH, side)


def honoured(
    name: str, target: str, parse: Parser, *, default: str, note: str, secret: bool = False
) -> Iterator[KafkaOption]:
    yield KafkaOption(
        name=name,
        use=Use.HONOURED,
        note=note,
        target=target,
        parse=parse,
        default=default,
        secret=secret,
    )


def ignored(note: str, *names: str) -> Iterator[KafkaOption]:
    for name in names:
        yield KafkaOption(name=name, use=Use.IGNORED, note=note)


def refused(note: str, *names: str, side: Side = Side.BOTH) -> Iterator[KafkaOption]:
    for name in names:
        yield KafkaOption(name=name, use=Use.REFUSED, note=note, side=side)
