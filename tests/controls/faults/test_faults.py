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


async def test_route_without_a_rule_is_the_original_handler_object(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        groups = [plane._resources.handlers for plane in served.broker.planes]
        apis = served.broker.parts.apis

        def handlers() -> list[Any]:
            return [
                group.routes[code_of(entry.key, entry.last)].handler
                for group in groups
                for entry in apis
            ]

        own = [apis.get(entry.key).handler for _ in groups for entry in apis]
        before = handlers()
        faults = Faults(served.broker)
        assert all(handler is plain for handler, plain in zip(handlers(), own, strict=True))
        assert all(handler is plain for handler, plain in zip(before, own, strict=True))

        with faults.add(FaultRule(api="Produce", error=ERROR)):
            assert sum(
                handler is not plain for handler, plain in zip(handlers(), own, strict=True)
            ) == len(groups)
            with faults.add(FaultRule(error=ERROR)):
                assert all(
                    handler is not plain for handler, plain in zip(handlers(), own, strict=True)
                )

        assert all(handler is plain for handler, plain in zip(handlers(), own, strict=True))
        assert len(served.broker.parts.interceptors) == 0


async def test_rule_added_while_its_api_is_switched_off_applies_after_the_api_is_restored(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        harness.interceptors.limit({key_of_api("Echo", harness.parts.apis): NOT_SERVED})
        fault = faults.add(FaultRule(api="Echo", error=ERROR))
        harness.interceptors.limit({})

        assert await codes(harness, 1) == [ERROR]
        fault.remove()
        assert len(harness.interceptors) == 0


async def test_clearing_one_faults_object_keeps_the_rules_of_another(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        other = Faults(harness)
        other.add(FaultRule(error=ERROR))
        faults.clear()

        assert await codes(harness, 1) == [ERROR]


# --- which rule applies


async def test_first_matching_rule_applies_and_later_rules_count_the_request_as_seen(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        first = faults.add(FaultRule(api="Echo", error=ERROR, times=2))
        second = faults.add(FaultRule(api=EchoRequest, error=OTHER))

        assert await codes(harness, 3) == [ERROR, ERROR, OTHER]
        assert (first.hits, first.seen) == (2, 3)
        assert (second.hits, second.seen) == (1, 3)


async def test_rules_of_one_hit_each_fail_consecutive_requests_in_order(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        faults.add_all(FaultRule(error=code, times=1) for code in (ERROR, OTHER, ERROR))

        assert await codes(harness, 4) == [ERROR, OTHER, ERROR, 0]


async def test_rules_match_by_api_version_client_principal_listener_and_predicate(
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


async def test_requests_of_the_test_kit_fail_only_by_a_rule_with_its_client_id(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        for client_id in (None, "*"):
            with faults.add(FaultRule(error=ERROR, client_id=client_id)):
                assert await codes(harness, 1, KIT_CLIENT) == [0]
                assert await codes(harness, 1, "harness") == [ERROR]
        with faults.add(FaultRule(error=ERROR, client_id=KIT_CLIENT)):
            assert await codes(harness, 1, KIT_CLIENT) == [ERROR]


async def test_exception_of_a_predicate_is_kept_in_failures(
    autojump_clock: MockClock,
) -> None:
    def raises(*_: object) -> bool:
        raise LookupError("mine")

    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, where=raises))

        assert await codes(harness, 1) == [ErrorCode.UNKNOWN_SERVER_ERROR]
        ((error, where),) = faults.failures
        assert (str(error), where) == ("mine", "around Echo")


async def test_rules_without_a_matching_request_are_listed_as_unmatched(
    autojump_clock: MockClock,
) -> None:
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


async def test_rule_with_after_every_and_times_fails_exactly_the_matching_turns(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, after=1, every=3, times=2))

        assert await codes(harness, 10) == [0, ERROR, 0, 0, ERROR, 0, 0, 0, 0, 0]


async def test_rule_with_after_lets_the_first_requests_pass(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, after=2))

        assert await codes(harness, 4) == [0, 0, ERROR, ERROR]


async def test_rule_for_all_apis_counts_each_request_once(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(api="Echo", client_id="other", error=OTHER))
        every = faults.add(FaultRule(error=ERROR, after=1, times=1))

        assert await codes(harness, 3) == [0, ERROR, 0]
        assert every.seen == 3


async def test_rule_with_a_window_applies_only_during_the_window(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, window_s=(1, 2)))
        result = []
        for _ in range(3):
            result += await codes(harness, 1)
            await trio.sleep(1.01)

        assert result == [0, ERROR, 0]


async def test_rules_with_equal_seeds_fail_the_same_requests(autojump_clock: MockClock) -> None:
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


async def test_random_draws_of_a_rule_do_not_depend_on_other_rules(
    autojump_clock: MockClock,
) -> None:
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
def test_rules_with_random_triggers_behave_like_the_model(
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
            result = await codes(harness, count)
            return result, [(fault.seen, fault.hits) for fault in added]

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

    assert run_simulated(main) == (expected, [(count, hit) for hit in hits])


# --- handles


async def test_waiting_for_a_number_of_hits_ends_at_that_hit(autojump_clock: MockClock) -> None:
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


async def test_waiting_for_more_hits_of_a_removed_rule_raises_removed_error(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (harness, faults):
        fault = faults.add(FaultRule(error=ERROR, name="mine"))
        await codes(harness, 1)
        fault.remove()
        fault.remove()

        await fault.wait(1)
        with pytest.raises(RemovedError, match="rule mine was removed after 1 of 2 hits"):
            await fault.wait(2)


async def test_removing_a_rule_releases_its_held_requests(autojump_clock: MockClock) -> None:
    async with faulty() as (harness, faults):
        with faults.add(FaultRule(hold=True)) as fault:
            client = harness.client("held")
            client.send(EchoRequest("a"))
            await fault.wait()
        assert (await client.receive(EchoRequest())).text == "a"
        assert len(harness.interceptors) == 0


async def test_delayed_requests_of_many_clients_are_served_concurrently(
    autojump_clock: MockClock,
) -> None:
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


async def test_connection_closed_by_a_rule_names_the_rule_as_reason(
    autojump_clock: MockClock,
) -> None:
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
async def test_rule_with_an_unknown_api_wrong_response_or_taken_name_is_rejected(
    autojump_clock: MockClock, rule: dict[str, Any], why: str
) -> None:
    async with faulty() as (harness, faults):
        faults.add(FaultRule(error=ERROR, name="taken", client_id="nobody"))

        with pytest.raises(RuleError, match=why):
            faults.add(FaultRule(**rule))
        assert await codes(harness, 1) == [0]


async def test_adding_several_rules_adds_no_rule_if_any_rule_is_invalid(
    autojump_clock: MockClock,
) -> None:
    async with faulty(most=2) as (_, faults):
        with pytest.raises(RuleError, match="rule 2: api: this broker has no"):
            faults.add_all([FaultRule(error=ERROR), FaultRule(api="No", error=ERROR)])
        assert len(faults) == 0
        with pytest.raises(RuleError, match="rule 3: there are 2 rules, the most"):
            faults.add_all([FaultRule(error=ERROR)] * 3)
        assert len(faults) == 0
