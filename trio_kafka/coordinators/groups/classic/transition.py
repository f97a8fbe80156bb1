"""Changes of one event to one classic group: the effects collected so far."""

from collections.abc import Callable, Mapping
from functools import partial

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.group import SESSION, ClassicGroup
from trio_kafka.coordinators.groups.classic.membership import NO_ASSIGNMENT, Member
from trio_kafka.coordinators.groups.classic.states import GroupEvent
from trio_kafka.coordinators.groups.classic.values import Join, JoinAnswer, SyncAnswer
from trio_kafka.coordinators.groups.history import ChangeKind
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS, GroupSettings
from trio_kafka.coordinators.shards.effects import Effects, EventResult, SetTimer, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps


@define(eq=False)
class Transition:
    """The group, its settings, the time and the effects. rest: steps that the event still has to
    take.
    """

    group: ClassicGroup
    settings: GroupSettings
    now_ms: int
    effects: Effects = field(factory=Effects)
    rest: Steps[None] | None = None

    @property
    def done(self) -> EventResult:
        """Effects of the event, or the steps that lead to them."""
        return self.effects if self.rest is None else self._in_steps()

    def _in_steps(self) -> Steps[Effects]:
        rest, self.rest = self.rest, None  # breaks the cycle
        if rest is not None:
            yield from rest
        return self.effects

    @property
    def later(self) -> "Callable[[int], Transition]":
        """Return a transition of a later time, for what follows the commit or refusal of records.

        It does not refer to this one, whose effects refer to it: the two would be a cycle.
        """
        return partial(Transition, self.group, self.settings)

    def note(self, client_id: str, kind: ChangeKind) -> None:
        """Note in the group's history that a member of this client joins or leaves."""
        self.group.history.add_change(self.now_ms, client_id, kind)

    def renew_session(self, member: Member, timeout_ms: int | None = None) -> None:
        """Start the member's session again."""
        delay_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        key = (SESSION, self.group.group_id, member.member_id)
        self.effects.timers.append(SetTimer(key, delay_ms))

    def cancel_timers(self, member_id: str) -> None:
        """Cancel the member's session."""
        self.effects.cancel_timer(self.group.session_timer(member_id))

    def restate(self, member: Member, request: Join) -> None:
        """Take over the protocols and timeouts of this join."""
        self.group.membership.set_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms

    def park_join(self, member: Member, request: Join, ticket: Ticket) -> None:
        """Keep the join of a known member pending. An earlier join of the member is refused."""
        self.restate(member, request)
        if member.join_ticket is not None:
            self.refuse_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        self.group.membership.set_join(member, ticket)

    def answer_join(self, member: Member, answer: JoinAnswer) -> None:
        """Answer the pending join, if there is one."""
        ticket = self.group.membership.set_join(member, None)
        if ticket is not None:
            self.effects.answers.append((ticket, answer))

    def refuse_join(self, member: Member, error: ErrorCode, member_id: str) -> None:
        """Refuse the pending join, if there is one. member_id: the id that the client continues
        with.
        """
        if member.join_ticket is not None:
            self.answer_join(member, JoinAnswer(member_id, error))

    def answer_sync(self, member: Member, answer: SyncAnswer | KafkaError) -> bool:
        """Answer the pending sync; return False if there is none."""
        ticket, member.sync_ticket = member.sync_ticket, None
        if ticket is None:
            return False
        self.effects.answer(ticket, answer)
        return True

    def sync_answer(self, assignment: bytes) -> SyncAnswer:
        """Return the answer to a sync."""
        group = self.group
        return SyncAnswer(group.protocol_type or None, group.protocol_name, assignment)

    def assign_all(self, assignments: Mapping[str, bytes]) -> None:
        """Give every member its assignment, and restart the session of members that
        waited for it.
        """
        for member in self.group.membership.by_id.values():
            member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
            if self.answer_sync(member, self.sync_answer(member.assignment)):
                self.renew_session(member)

    def clear_assignments(self, error: ErrorCode) -> None:
        """Remove all assignments, and answer pending syncs with the error."""
        for member in self.group.membership.by_id.values():
            member.assignment = NO_ASSIGNMENT
            if self.answer_sync(member, KafkaError(error)):
                self.renew_session(member)

    def current(self, member_id: str) -> JoinAnswer:
        """Return the current generation as the answer to a join. The leader gets all members."""
        group = self.group
        leads = group.leader == member_id
        return JoinAnswer(
            member_id=member_id,
            generation=group.generation,
            protocol_type=group.protocol_type or None,
            protocol_name=group.protocol_name,
            leader=group.leader or "",
            members=group.joined_members() if leads else (),
        )


def end_group(group: ClassicGroup, error: ErrorCode, now_ms: int) -> Effects:
    """Refuse all pending requests with the error, cancel all timers, and make the group Dead.

    The caller replaces or removes it in the shard.
    """
    transition = Transition(group, DEFAULT_GROUP_SETTINGS, now_ms)
    for member in group.membership:
        transition.refuse_join(member, error, member.member_id)
        transition.answer_sync(member, KafkaError(error))
    for key in group.timers():
        transition.effects.cancel_timer(key)
    group.change_state(GroupEvent.END, now_ms)
    return transition.effects
