"""History of a group: its last rebalances, and the joins and leaves of its members.

It is in no record, so a load of the shard forgets it. Both lists are bounded, and so are the texts
in them, since clients choose some. They are tuples: a change is rare, and most groups have none.
"""

from typing import Final, Literal, TypeAlias

from trio_kafka.attributes import define, frozen

REBALANCES: Final = 8
CHANGES: Final = 32
_LONGEST_NAME: Final = 255  # characters of a client id
_LONGEST_CAUSE: Final = 1000
ChangeKind: TypeAlias = Literal["joined", "left", "timed out"]


@frozen(kw_only=True)
class Rebalance:
    """A rebalance and its cause.

    generation: generation or epoch of the group before it. client_id: client whose member caused
    it; empty: no member did.
    """

    at_ms: int
    generation: int
    cause: str
    client_id: str = ""


@frozen(kw_only=True)
class MemberChange:
    """A join or leave of a member. A static member that comes back joins again."""

    at_ms: int
    client_id: str
    kind: ChangeKind


@define(eq=False)
class GroupHistory:
    """rebalances, changes: the oldest first, at most REBALANCES and CHANGES of them."""

    rebalances: tuple[Rebalance, ...] = ()
    changes: tuple[MemberChange, ...] = ()

    def add_rebalance(self, at_ms: int, generation: int, cause: str, *, client_id: str) -> None:
        rebalance = Rebalance(
            at_ms=at_ms,
            generation=generation,
            cause=_shortened(cause, _LONGEST_CAUSE),
            client_id=_shortened(client_id, _LONGEST_NAME),
        )
        self.rebalances = (*self.rebalances[1 - REBALANCES :], rebalance)

    def add_change(self, at_ms: int, client_id: str, kind: ChangeKind) -> None:
        name = _shortened(client_id, _LONGEST_NAME)
        change = MemberChange(at_ms=at_ms, client_id=name, kind=kind)
        self.changes = (*self.changes[1 - CHANGES :], change)


def _shortened(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
