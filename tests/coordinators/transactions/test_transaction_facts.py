"""Facts of transactional ids: age, time left, partitions, and what their end waits for."""

from attrs import evolve
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.coordinators.transactions.kit import FIRST, ID, SECOND, TransactionsKit
from tests.coordinators.transactions.test_marker_writer import NOT_LEADER, Writing, writing
from trio_kafka.coordinators.transactions.transaction_facts import (
    ranked_transactions,
    transaction_facts,
    transaction_figures,
)
from trio_kafka.introspect.facts.transactions import TransactionFacts
from trio_kafka.scheduling.chunked_work import whole

REFUSED = {FIRST: NOT_LEADER, SECOND: NOT_LEADER}


def facts(
    kit: TransactionsKit, running: Writing, *, after_ms: int = 0, topics: str = "t"
) -> TransactionFacts:
    now_ms = kit.transaction.updated_ms + after_ms
    return transaction_facts(
        kit.transaction, kit.machine, running.writer, now_ms, may_describe=topics.__contains__
    )


async def test_open_transaction_waits_for_its_producer_until_its_timeout(
    autojump_clock: MockClock,
) -> None:
    kit = TransactionsKit()
    kit.ongoing(SECOND, FIRST, version=2)

    async with writing() as running:
        young = facts(kit, running, after_ms=20_000)
        old = facts(kit, running, after_ms=61_000)

    assert (young.state, young.version, young.epoch) == ("Ongoing", 2, 0)
    assert (young.age_s, young.left_s, young.waits_for) == (20.0, 40.0, "its producer")
    assert (young.partitions, young.partitions_total) == ({"t": (0, 1)}, 2)
    assert (old.age_s, old.left_s) == (61.0, 0.0)
    assert old.waits_for == "the next search for transactions above their timeout"


async def test_prepared_transaction_waits_for_markers_and_says_how_they_were_refused(
    autojump_clock: MockClock,
) -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST, SECOND)
    kit.end(identity)
    kit.submit_add(identity, FIRST)

    async with writing(REFUSED) as running:
        running.writer.send(kit.transaction)
        queued = facts(kit, running).waits_for
        await wait_all_tasks_blocked()
        prepared = facts(kit, running, after_ms=3000)

    assert queued == "markers in 2 partitions"
    assert prepared.waits_for == (
        "markers in 2 partitions, refused last with NOT_LEADER_OR_FOLLOWER"
    )
    assert (prepared.state, prepared.state_s, prepared.left_s) == ("PrepareCommit", 3.0, None)
    assert prepared.parked == 1


async def test_id_at_rest_has_no_age_and_waits_for_nothing(autojump_clock: MockClock) -> None:
    kit = TransactionsKit()
    kit.end(kit.ongoing(FIRST))
    kit.write_markers()

    async with writing() as running:
        at_rest = facts(kit, running, after_ms=5000)
        figures = transaction_figures(kit.transaction, 0, running.writer)

    assert (at_rest.age_s, at_rest.left_s, at_rest.waits_for) == (None, None, "")
    assert at_rest.partitions_total == 0
    assert figures == {
        "state": "CompleteCommit",
        "age_s": None,
        "left_s": None,
        "producer_id": at_rest.producer_id,
        "producer_epoch": 0,
        "partitions": 0,
        "timeout_ms": 60_000,
        "waits_for": "",
    }


async def test_topics_that_the_reader_may_not_see_are_left_out(autojump_clock: MockClock) -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)

    async with writing() as running:
        hidden = facts(kit, running, topics="x")

    assert (hidden.partitions, hidden.partitions_total) == ({}, 1)


async def test_open_transactions_come_first_the_oldest_of_them_first(
    autojump_clock: MockClock,
) -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)
    younger = evolve(kit.transaction, transactional_id="younger", started_ms=2**50)
    kit.driver.apply(lambda machine, _now_ms: machine.store(younger))
    kit.initialize(name="a-rest")
    kit.initialize(name="hidden")

    async with writing() as running:

        def names(*, only_open: bool) -> list[str]:
            ranking = whole(
                ranked_transactions(
                    [kit.machine],
                    running.writer,
                    lambda name: name != "hidden",
                    only_open=only_open,
                )
            )
            return [entry.transactional_id for entry in ranking]

        assert names(only_open=False) == [ID, "younger", "a-rest"]
        assert names(only_open=True) == [ID, "younger"]


async def test_transaction_whose_markers_are_being_written_is_open(
    autojump_clock: MockClock,
) -> None:
    kit = TransactionsKit()
    kit.end(kit.ongoing(FIRST))

    async with writing(REFUSED) as running:
        running.writer.send(kit.transaction)
        ranking = whole(
            ranked_transactions([kit.machine], running.writer, lambda _name: True, only_open=True)
        )

    assert [entry.transactional_id for entry in ranking] == [ID]
