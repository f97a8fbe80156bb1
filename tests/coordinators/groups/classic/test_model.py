"""The machine and a simple model of a classic group, under any order of events, in virtual time."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tests.coordinators.groups.classic.kit import (
    BOTH,
    DELAY_MS,
    GROUP,
    RANGE,
    ClassicKit,
    Request,
)
from tests.coordinators.groups.classic.model import MemberModel, Model
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.errors import ErrorCode, KafkaError

MAX_SIZE = 4
SAYS = {"range": RANGE, "both": BOTH}
# No two of them are due at once by chance: which comes first would be nobody's to say.
SESSIONS_MS = [7001, 11_003]
REBALANCES_MS = [5009, 40_013]

says = st.sampled_from(list(SAYS))
sessions = st.sampled_from(SESSIONS_MS)
rebalances = st.sampled_from(REBALANCES_MS)
instances = st.sampled_from(["i", "j"])


class Groups(RuleBasedStateMachine):
    """Clients do what they like; the group and its model agree about all that can be seen."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.kit = ClassicKit(max_size=MAX_SIZE)
        self.kit.join(protocols=())  # refused; the group is there
        self.model = Model(self.kit.driver.now_ms, DELAY_MS, MAX_SIZE)
        self.waiting: list[Request] = []

    def _check_answer(self, request: Request, expected: ErrorCode | None) -> None:
        assert (None if request.waits else request.code) is expected
        if request.waits:
            self.waiting.append(request)

    @rule(target=ids, session_ms=sessions)
    def ask_for_an_id(self, session_ms: int) -> str:
        request = self.kit.join(session_ms=session_ms, protocols=BOTH)
        member = request.joined.member_id or "ghost"

        assert request.code is self.model.new_id(member, session_ms)
        return member

    @rule(member=ids, said=says, session_ms=sessions, rebalance_ms=rebalances)
    def join(self, member: str, said: str, session_ms: int, rebalance_ms: int) -> None:
        joiner = MemberModel(session_ms, rebalance_ms, said, None)
        existing = self.kit.group.membership.by_id.get(member)
        instance = existing.instance_id if existing else None

        request = self.kit.join(
            member,
            instance=instance,
            protocols=SAYS[said],
            session_ms=session_ms,
            rebalance_ms=rebalance_ms,
        )

        self._check_answer(request, self.model.join(member, joiner))

    @rule(target=ids, instance=instances, session_ms=sessions, rebalance_ms=rebalances)
    def a_static_member_joins(self, instance: str, session_ms: int, rebalance_ms: int) -> str:
        joiner = MemberModel(session_ms, rebalance_ms, "range", instance)
        old = self.kit.group.membership.of_instance(instance)
        room = self.model.has_room("")

        request = self.kit.join(instance=instance, session_ms=session_ms, rebalance_ms=rebalance_ms)

        if not room:
            assert request.code is ErrorCode.GROUP_MAX_SIZE_REACHED
            return old or "ghost"
        member = self._new_static(request, instance)
        if old is None:
            expected = self.model.join(member, joiner)
        else:
            expected = self.model.replace(old, member, joiner, refused=self.refuses)
        self._check_answer(request, expected)
        return member or old or "ghost"

    def _new_static(self, request: Request, instance: str) -> str:
        if request.waits:
            return self.kit.group.membership.of_instance(instance) or ""
        return request.joined.member_id

    @rule(member=ids, behind=st.sampled_from([0, 0, 0, 1]))
    def sync(self, member: str, behind: int) -> None:
        generation = self.model.generation - behind
        own = {each: each.encode() for each in self.model.members}

        request = self.kit.sync(member, own, generation=generation)

        self._check_answer(request, self.model.sync(member, generation, refused=self.refuses))

    @rule()
    def all_sync(self) -> None:
        for member in list(self.model.members):
            self.sync(member, 0)

    @rule(member=ids, behind=st.sampled_from([0, 0, 0, 1]))
    def beat(self, member: str, behind: int) -> None:
        generation = self.model.generation - behind

        assert self.kit.beat(member, generation=generation) is self.model.beat(member, generation)

    @rule(members=st.lists(ids, min_size=1, max_size=2))
    def leave(self, members: list[str]) -> None:
        before = self.model.generation
        expected = self.model.leave(*members)
        result = self.kit.leave(*members)

        if self.refuses and self.model.phase == "Empty" and self.model.generation > before:
            assert isinstance(result, KafkaError)  # they are gone, but that is not stored
        else:
            assert result == expected

    @rule(member=consumes(ids))
    def leave_for_good(self, member: str) -> None:
        self.leave([member])

    @rule()
    def the_log_refuses_or_takes_records(self) -> None:
        refusal = KafkaError(ErrorCode.NOT_COORDINATOR)
        self.kit.driver.refuse = None if self.refuses else refusal

    @property
    def refuses(self) -> bool:
        return self.kit.driver.refuse is not None

    @rule(ms=st.one_of(st.integers(1, 4000), st.integers(1, 50_000)))
    def wait(self, ms: int) -> None:
        self.kit.wait(ms)
        self.model.wait(ms)

    @invariant()
    def both_agree(self) -> None:
        group, model = self.kit.group, self.model
        assert (group.state, group.generation) == (model.phase, model.generation)
        assert [member.member_id for member in group.membership] == list(model.members)
        assert (group.leader, group.membership.pending) == (model.leader, model.pending)
        assert group.syncs_due == model.unsynced
        names = {"classic-session": 2, "classic-join": 0, "classic-sync": 0}
        result = {
            (key[2] if names[str(key[0])] else str(key[0])[8:]): remaining_ms
            for key, remaining_ms in self.kit.driver.timers.items()
            if GROUP in key
        }
        assert result == {name: due - model.now for name, (due, _) in model.due.items()}

    @invariant()
    def each_request_waits_where_it_should(self) -> None:
        group = self.kit.group
        joins = [
            member.join_ticket for member in group.membership if member.join_ticket is not None
        ]
        syncs = [
            member.sync_ticket for member in group.membership if member.sync_ticket is not None
        ]
        self.waiting = [request for request in self.waiting if request.waits]
        assert {request.ticket for request in self.waiting} == {*joins, *syncs}
        assert len(self.waiting) == len(joins) + len(syncs)
        assert group.membership.joined == len(joins)
        assert not joins or group.phase is ClassicState.PREPARING_REBALANCE
        assert not syncs or group.phase is ClassicState.COMPLETING_REBALANCE
        assert group.is_empty == (not len(group.membership) and group.state == "Empty")

    @invariant()
    def what_is_stored_is_what_is_stable(self) -> None:
        """A group is stable when its generation is stored, also after refusals in between."""
        if self.kit.group.phase is ClassicState.STABLE:
            again = self.kit.driver.reload().machine.by_id[GROUP]
            before = self.kit.group
            assert [vars_of(member) for member in again.members()] == [
                vars_of(member) for member in before.membership
            ]
            assert again.description() == before.description()  # type: ignore[attr-defined]

    def teardown(self) -> None:
        """Check that no member waits for ever."""
        self.kit.wait(1_000_000)
        self.model.wait(1_000_000)
        self.both_agree()
        assert not [request for request in self.waiting if request.waits]
        assert self.kit.state == "Empty"
        assert not [key for key in self.kit.driver.timers if GROUP in key]


def vars_of(member: object) -> tuple[object, ...]:
    names = ("member_id", "instance_id", "assignment")
    return tuple(getattr(member, name) for name in names)


Groups.TestCase.settings = settings(stateful_step_count=40)
TestGroups = Groups.TestCase
