"""Rules in force: the request that they get, their counts, handles, and what they leave."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.controls.api_limits import NOT_SERVED
from trio_kafka.controls.api_names import key_of_api
from trio_kafka.controls.faults import FaultRule, Faults, RuleError
from trio_kafka.controls.faults.faults import RemovedError
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.errors import ErrorCode
from trio_kafka.model import code_of
from trio_kafka.plugin import Context, api
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse
from trio_kafka.testing.simulation import run_simulated, simulated_world
from trio_kafka.world.simulated import Universe

ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER
OTHER = ErrorCode.REQUEST_TIMED_OUT


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


@api(WaitRequest)
def wait(request: WaitRequest, context: Context) -> WaitResponse:
    return WaitResponse()


@asynccontextmanager
async def faulty(**how: Any) -> AsyncIterator[tuple[PluginHarness, Faults]]:
    async with PluginHarness(handlers=[echo, wait]) as harness:
        yield harness, Faults(harness, **how)


async def codes(harness: PluginHarness, count: int, client_id: str | None = "harness") -> list[int]:
    return [
        (await harness.ask(EchoRequest(), client_id=client_id)).error_code for _ in range(count)
    ]


# --- nothing without rules


async def test_without_rules_a_route_is_the_same_function_object(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        groups = [plane._resources.handlers for plane in served.broker.planes]
        apis = served.broker.parts.apis

        def handlers() -> list[Any]:
            return [
                group.routes.get(code_of(one.key, one.last)).handler
                for group in groups
                for one in apis
            ]

        own = [apis.get(one.key).handler for _ in groups for one in apis]
        before = handlers()
        faults = Faults(served.broker)
        assert all(one is plain for one, plain in zip(handlers(), own, strict=True))
        assert all(one is plain for one, plain in zip(before, own, strict=True))

        with faults.add(FaultRule(api="Produce", error=ERROR)):
            assert sum(one is not plain for one, plain in zip(handlers(), own, strict=True)) == len(
                groups
            )
            with faults.add(FaultRule(error=ERROR)):
                assert all(one is not plain for one, plain in zip(handlers(), own, strict=True))

        assert all(one is plain for one, plain in zip(handlers(), own, strict=True))
        assert len(served.broker.parts.interceptors) == 0


async def test_a_rule_for_an_api_that_is_switched_off_applies_when_it_is_back(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        harness.interceptors.limit({key_of_api("Echo", harness.parts.apis): NOT_SERVED})
        fault = faults.add(FaultRule(api="Echo", error=ERROR))
        harness.interceptors.limit({})

        assert await codes(harness, 1) == [ERROR]
        fault.remove()
        assert len(harness.interceptors) == 0


async def test_two_faults_of_one_broker_do_not_share_rules(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        other = Faults(harness)
        other.add(FaultRule(error=ERROR))
        faults.clear()

        assert await codes(harness, 1) == [ERROR]


# --- which rule applies


async def test_the_first_rule_that_matches_wins_and_the_other_counts_it_as_seen(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        first = faults.add(FaultRule(api="Echo", error=ERROR, times=2))
        second = faults.add(FaultRule(api=EchoRequest, error=OTHER))

        assert await codes(harness, 3) == [ERROR, ERROR, OTHER]
        assert (first.hits, first.seen) == (2, 3)
        assert (second.hits, second.seen) == (1, 3)


async def test_rules_that_follow_one_another_are_a_list_of_errors(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        faults.add_all(FaultRule(error=code, times=1) for code in (ERROR, OTHER, ERROR))

        assert await codes(harness, 4) == [ERROR, OTHER, ERROR, 0]


async def test_rules_are_about_apis_versions_clients_principals_and_listeners(
    autojump_clock: MockClock,
) -> None:
    async def fails(sender: str = "harness", /, **conditions: Any) -> bool:
        async with faulty() as (harness, faults):
            faults.add(FaultRule(error=ERROR, **conditions))
            return await codes(harness, 1, sender) == [ERROR]

    assert await fails(api=("Wait", "Echo"))
    assert not await fails(api="Wait")
    assert await fails(api=EchoRequest.__message__.key)  # type: ignore[attr-defined]
    assert await fails(version=1)
    assert await fails(version=(0, 1))
    assert not await fails(version=(0, 0))
    assert await fails("slow-1", client_id="slow-*")
    assert not await fails("quick", client_id="slow-*")
    assert await fails(principal="User:ANONYMOUS")
    assert not await fails(principal="User:alice")
    assert await fails(listener="PLAINTEXT")
    assert not await fails(listener="SSL")
    assert await fails(where=lambda request, context: context.client_id == "harness")
    assert not await fails(where=lambda request, context: False)
    assert not await fails(topic="*")


async def test_the_kits_own_requests_fail_only_for_a_rule_that_names_them(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        for client_id in (None, "*"):
            with faults.add(FaultRule(error=ERROR, client_id=client_id)):
                assert await codes(harness, 1, KIT_CLIENT) == [0]
                assert await codes(harness, 1, "harness") == [ERROR]
        with faults.add(FaultRule(error=ERROR, client_id=KIT_CLIENT)):
            assert await codes(harness, 1, KIT_CLIENT) == [ERROR]


async def test_a_predicate_that_fails_is_kept_for_the_end_of_the_test(
    autojump_clock: MockClock,
) -> None:
    def raises(*_: object) -> bool:
        raise LookupError("mine")

    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, where=raises))

        assert await codes(harness, 1) == [ErrorCode.UNKNOWN_SERVER_ERROR]
        ((error, where),) = faults.failures
        assert (str(error), where) == ("mine", "around Echo")


async def test_a_rule_that_matched_nothing_is_known(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(api="Echo", after=5, error=ERROR))
        idle = faults.add(FaultRule(api="Wait", error=ERROR))
        await codes(harness, 1)

        assert faults.unmatched == [idle]
        with faults.add(FaultRule(api="Wait", error=ERROR)) as gone:
            pass
        assert faults.unmatched == [gone, idle]
        faults.clear()
        assert faults.unmatched == []


# --- triggers


async def test_every_third_after_the_first_fails_twice(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, after=1, every=3, times=2))

        assert await codes(harness, 10) == [0, ERROR, 0, 0, ERROR, 0, 0, 0, 0, 0]


async def test_the_first_requests_pass(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, after=2))

        assert await codes(harness, 4) == [0, 0, ERROR, ERROR]


async def test_a_request_meets_a_rule_for_all_apis_once(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(api="Echo", client_id="other", error=OTHER))
        every = faults.add(FaultRule(error=ERROR, after=1, times=1))

        assert await codes(harness, 3) == [0, ERROR, 0]
        assert every.seen == 3


async def test_a_rule_has_its_time(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, window_s=(1, 2)))
        found = []
        for _ in range(3):
            found += await codes(harness, 1)
            await trio.sleep(1.01)

        assert found == [0, ERROR, 0]


async def test_equal_seeds_draw_equal_faults(autojump_clock: MockClock) -> None:
    async def run(seed: object, own: object = None) -> list[int]:
        async with faulty(seed=seed) as (harness, faults):
            faults.add(FaultRule(error=ERROR, probability=0.5, seed=own))
            return await codes(harness, 40)

    first = await run(1)
    assert first == await run(1)
    assert first != await run(2)
    assert 8 < first.count(ERROR) < 32
    assert await run(1, "a") == await run(2, "a")
    assert await run(1, "a") != await run(1, "b")


async def test_a_rules_draws_do_not_depend_on_other_rules(autojump_clock: MockClock) -> None:
    async def run(*before: FaultRule) -> list[int]:
        async with faulty() as (harness, faults):
            faults.add_all(before)
            faults.add(FaultRule(error=ERROR, probability=0.5, seed="mine"))
            return await codes(harness, 40)

    assert await run() == await run(FaultRule(observe=True, probability=0.3))


@pytest.mark.slow
@given(
    triggers=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(1, 4),
            st.none() | st.integers(1, 4),
            st.sampled_from([ERROR, OTHER, None]),
        ),
        max_size=4,
    ),
    count=st.integers(0, 12),
)
def test_rules_apply_as_their_triggers_say(
    triggers: list[tuple[int, int, int | None, ErrorCode | None]], count: int
) -> None:
    """A model of the triggers in a few lines. None: the rule observes."""

    async def main(_: Universe) -> tuple[list[int], list[tuple[int, int]]]:
        async with faulty() as (harness, faults):
            added = [
                faults.add(
                    FaultRule(
                        after=after, every=every, times=times, error=code, observe=code is None
                    )
                )
                for after, every, times, code in triggers
            ]
            found = await codes(harness, count)
            return found, [(one.seen, one.hits) for one in added]

    hits = [0] * len(triggers)
    expected = []
    for n in range(count):
        outcome = None
        for number, (after, every, times, code) in enumerate(triggers):
            turn = n - after
            if turn < 0 or turn % every or hits[number] == times:
                continue
            if code is None:
                hits[number] += 1
            elif outcome is None:
                outcome = code
                hits[number] += 1
        expected.append(0 if outcome is None else int(outcome))

    assert run_simulated(main) == (expected, [(count, one) for one in hits])


# --- handles


async def test_a_wait_ends_with_the_hit_that_it_waits_for(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults), trio.open_nursery() as nursery:
        fault = faults.add(FaultRule(error=ERROR))
        done: list[int] = []

        async def wait_for(hits: int) -> None:
            await fault.wait(hits)
            done.append(hits)

        nursery.start_soon(wait_for, 1)
        nursery.start_soon(wait_for, 2)
        await wait_all_tasks_blocked()
        assert done == []
        await codes(harness, 1)
        await wait_all_tasks_blocked()
        assert done == [1]
        await codes(harness, 1)
        await wait_all_tasks_blocked()
        assert done == [1, 2]
        await fault.wait(2)


async def test_a_wait_for_a_rule_that_is_removed_says_so(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        fault = faults.add(FaultRule(error=ERROR, name="mine"))
        await codes(harness, 1)
        fault.remove()
        fault.remove()

        await fault.wait(1)
        with pytest.raises(RemovedError, match="rule mine was removed after 1 of 2 hits"):
            await fault.wait(2)


async def test_a_removed_rule_lets_go_what_it_holds(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        with faults.add(FaultRule(hold=True)) as fault:
            client = harness.client("held")
            client.send(EchoRequest("a"))
            await fault.wait()
        assert (await client.receive(EchoRequest())).text == "a"
        assert len(harness.interceptors) == 0


async def test_delayed_requests_hold_no_handler(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(api="Echo", delay_s=(1, 3)))
        clients = [harness.client() for _ in range(50)]
        began = trio.current_time()
        for client in clients:
            client.send(EchoRequest("late"))
        await trio.sleep(0.9)
        assert all(client.connection.request is not None for client in clients)
        for client in clients:
            assert (await client.receive(EchoRequest())).text == "late"
        assert 1 <= trio.current_time() - began <= 3.1


async def test_the_reason_of_a_closed_connection_is_the_rule(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(disconnect="before"))
        with pytest.raises(ClosedError, match="closed by a fault rule"):
            await harness.ask(EchoRequest())


async def test_the_tree_shows_each_rule_with_its_counts(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        node = harness.node.add("faults", "part")
        faults = Faults(harness, node=node)
        fault = faults.add(FaultRule(api=EchoRequest, error=ERROR, name="mine"))
        await codes(harness, 1)

        (shown,) = node.children
        assert shown.name == "mine"
        assert shown.figures() == {
            "seen": 1,
            "hits": 1,
            "held": 0,
            "rule": '{"api": "Echo", "error": "NOT_LEADER_OR_FOLLOWER", "name": "mine"}',
        }
        fault.remove()
        assert list(node.children) == []


# --- bad input


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"api": "Prodce", "error": ERROR}, "this broker has no 'Prodce': want one of Echo, Wait"),
        ({"api": "Ecko", "error": ERROR}, "this broker has no 'Ecko'; did you mean 'Echo'"),
        ({"api": 77, "error": ERROR}, "no API with key 77"),
        ({"api": (), "error": ERROR}, "api: the list is empty"),
        ({"respond": EchoResponse()}, "EchoResponse needs a rule for exactly one API"),
        ({"api": "Wait", "respond": EchoResponse()}, "EchoResponse, want WaitResponse"),
        ({"name": "taken", "error": ERROR}, "'taken' is taken"),
    ],
)
async def test_a_rule_that_this_broker_cannot_have_is_rejected(
    autojump_clock: MockClock, rule: dict[str, Any], why: str
) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, name="taken", client_id="nobody"))

        with pytest.raises(RuleError, match=why):
            faults.add(FaultRule(**rule))
        assert await codes(harness, 1) == [0]


async def test_of_many_rules_all_or_none_are_added(autojump_clock: MockClock) -> None:
    async with faulty(most=2) as (_, faults):
        with pytest.raises(RuleError, match="rule 2: api: this broker has no"):
            faults.add_all([FaultRule(error=ERROR), FaultRule(api="No", error=ERROR)])
        assert len(faults) == 0
        with pytest.raises(RuleError, match="rule 3: there are 2 rules, the most"):
            faults.add_all([FaultRule(error=ERROR)] * 3)
        assert len(faults) == 0
