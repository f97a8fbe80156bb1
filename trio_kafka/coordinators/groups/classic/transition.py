"""What one event does to one group: the effects as they come together."""

from collections.abc import Callable, Mapping
from functools import partial

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.effects import Effects, SetTimer, Ticket
from trio_kafka.coordinators.groups.classic.group import SESSION, ClassicGroup
from trio_kafka.coordinators.groups.classic.member import NO_ASSIGNMENT, Member
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.values import Joined, Joining, Synced
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS, GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps


@define(eq=False)
class Transition:
    """The group, what it obeys, the time, and what is to be done.

    rest: what else the event is to do, in steps, where that is much.
    """

    group: ClassicGroup
    settings: GroupSettings
    now_ms: int
    effects: Effects = field(factory=Effects)
    rest: Steps[None] | None = None

    @property
    def done(self) -> Effects | Steps[Effects]:
        """The effects of the event, at its end."""
        return self.effects if self.rest is None else self._in_steps()

    def _in_steps(self) -> Steps[Effects]:
        rest, self.rest = self.rest, None  # which knows this transition: no cycle is to stay
        if rest is not None:
            yield from rest
        return self.effects

    @property
    def later(self) -> "Callable[[int], Transition]":
        """By the time: an transition of what follows, when the fate of the records is known.

        It knows nothing of this one, whose effects know it: together they would be a cycle.
        """
        return partial(Transition, self.group, self.settings)

    def watch(self, member: Member, timeout_ms: int | None = None) -> None:
        """The member's session begins anew."""
        delay_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        key = (SESSION, self.group.group_id, member.member_id)
        self.effects.timers.append(SetTimer(key, delay_ms))

    def unwatch(self, member_id: str) -> None:
        self.effects.cancel_timer(self.group.session_timer(member_id))

    def restate(self, member: Member, joining: Joining) -> None:
        """What the member can speak, and its timeouts, are those of this join."""
        self.group.membership.speak(member, joining.protocols)
        member.rebalance_timeout_ms = joining.rebalance_timeout_ms
        member.session_timeout_ms = joining.session_timeout_ms

    def park_join(self, member: Member, joining: Joining, ticket: Ticket) -> None:
        """A known member's join waits. One that joins again has given up its request before."""
        self.restate(member, joining)
        if member.joining is not None:
            self.refuse_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        self.group.membership.park(member, ticket)

    def answer_join(self, member: Member, joined: Joined) -> None:
        """If its join waits."""
        ticket = self.group.membership.park(member, None)
        if ticket is not None:
            self.effects.answer(ticket, joined)

    def refuse_join(self, member: Member, error: ErrorCode, member_id: str) -> None:
        """If its join waits. member_id: the one that the client is to go on with."""
        if member.joining is not None:
            self.answer_join(member, Joined(member_id=member_id, error=error))

    def answer_sync(self, member: Member, answer: Synced | KafkaError) -> bool:
        """If its sync waits; whether it did."""
        ticket, member.syncing = member.syncing, None
        if ticket is None:
            return False
        self.effects.answer(ticket, answer)
        return True

    def synced(self, assignment: bytes) -> Synced:
        """The answer to one who syncs."""
        group = self.group
        return Synced(group.protocol_type or None, group.protocol_name, assignment)

    def give_out(self, assignments: Mapping[str, bytes]) -> None:
        """Each member has its own from now on, and its session begins anew: it could not be heard
        while it waited.
        """
        for member in self.group.membership:
            member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
            if self.answer_sync(member, self.synced(member.assignment)):
                self.watch(member)

    def take_back(self, error: ErrorCode) -> None:
        """No member has anything; who waits for it is told the error."""
        for member in self.group.membership:
            member.assignment = NO_ASSIGNMENT
            if self.answer_sync(member, KafkaError(error)):
                self.watch(member)

    def current(self, member_id: str) -> Joined:
        """The generation as it is, for one of its members; the leader is told of all of them."""
        group = self.group
        return Joined(
            member_id,
            ErrorCode.NONE,
            group.generation,
            group.protocol_type or None,
            group.protocol_name,
            group.leader or "",
            group.told() if group.leads(member_id) else (),
        )


def end_group(group: ClassicGroup, error: ErrorCode, now_ms: int) -> Effects:
    """Whoever waits is told the error, under the id that it has; nothing is due any more. The group
    is Dead: it is no longer to be found under its id.
    """
    transition = Transition(group, DEFAULT_GROUP_SETTINGS, now_ms)
    for member in group.membership:
        transition.refuse_join(member, error, member.member_id)
        transition.answer_sync(member, KafkaError(error))
    for key in group.timers():
        transition.effects.cancel_timer(key)
    group.enter(ClassicState.DEAD, now_ms)
    return transition.effects
