"""Tokens: first come, first served, and none is lost."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.tree import Node
from trio_kafka.requests.tokens import Tokens


class Named:
    name = "Fetch"


async def test_tokens_are_given_in_the_order_of_the_requests(autojump_clock: MockClock) -> None:
    tokens, order = Tokens(1, Node("n", "part"), "tokens"), []

    async def work(n: int) -> None:
        await tokens.take(n)
        order.append(n)
        await trio.sleep(1)
        tokens.give_back(n)

    async with trio.open_nursery() as nursery:
        for n in range(5):
            nursery.start_soon(work, n)
            await wait_all_tasks_blocked()
        assert tokens.waiting == 4

    assert order == [0, 1, 2, 3, 4]
    assert (tokens.borrowed_tokens, tokens.waiting) == (0, 0)


async def test_late_request_for_a_token_does_not_overtake_a_waiting_task(
    autojump_clock: MockClock,
) -> None:
    tokens, order = Tokens(1, Node("n", "part"), "tokens"), []

    async def work(name: str) -> None:
        await tokens.take(name)
        order.append(name)
        tokens.give_back(name)

    await tokens.take("holder")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, "waits")
        await wait_all_tasks_blocked()
        tokens.give_back("holder")
        await tokens.take("late")
        order.append("late")
        tokens.give_back("late")

    assert order == ["waits", "late"]


async def test_cancelled_wait_takes_no_token(autojump_clock: MockClock) -> None:
    tokens = Tokens(1, Node("n", "part"), "tokens")
    await tokens.take("holder")
    with trio.move_on_after(1) as scope:
        await tokens.take("late")
    assert scope.cancelled_caught
    tokens.give_back("holder")
    assert tokens.borrowed_tokens == 0
    with trio.fail_after(0):
        await tokens.take("next")
    tokens.give_back("next")


async def test_more_tokens_serve_waiting_tasks_and_fewer_tokens_revoke_none(
    autojump_clock: MockClock,
) -> None:
    tokens = Tokens(2, Node("n", "part"), "tokens")
    async with trio.open_nursery() as nursery:
        for n in range(4):
            nursery.start_soon(tokens.take, n)
        await wait_all_tasks_blocked()
        tokens.total_tokens = 3
        assert (tokens.borrowed_tokens, tokens.waiting) == (3, 1)
        tokens.total_tokens = 1
        borrowed = list(tokens._borrowers)
        assert len(borrowed) == 3
        for n in borrowed[:2]:
            tokens.give_back(n)
        await wait_all_tasks_blocked()
        assert (tokens.borrowed_tokens, tokens.waiting) == (1, 1)
        tokens.give_back(borrowed[2])
    assert (tokens.total_tokens, tokens.borrowed_tokens) == (1, 1)
    for n in list(tokens._borrowers):
        tokens.give_back(n)


async def test_token_is_given_back_only_once_and_its_holder_is_in_the_inspection_tree() -> None:
    node = Node("n", "part")
    tokens, named = Tokens(8, node, "num.io.threads"), Named()
    await tokens.take(named)
    (limiter,) = node.children

    assert limiter.kind == "limiter"
    figures = {"tokens": 8, "borrowed": 1, "waiting": 0, "held_by": "Fetch"}
    assert dict(limiter.figures()) == figures
    tokens.give_back(named)
    with pytest.raises(KeyError):
        tokens.give_back(named)


async def test_borrower_that_waits_several_times_at_once_gets_one_token(
    autojump_clock: MockClock,
) -> None:
    tokens = Tokens(2, Node("n", "part"), "tokens")
    for number in range(2):
        tokens.take_nowait(number)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(tokens.take, "borrower")
        await wait_all_tasks_blocked()
        for number in range(2):
            tokens.give_back(number)

    assert (tokens.borrowed_tokens, tokens.free) == (1, 1)
    await tokens.take("borrower")
    assert (tokens.borrowed_tokens, tokens.free) == (1, 1)
    tokens.give_back("borrower")
    assert (tokens.borrowed_tokens, tokens.free) == (0, 2)
