"""A whole system in one loop: our producers, our broker and our consumers, while the broker fails.

Writers send orders, some in transactions. Members of a group read them, and join and leave. With
transactions a copier copies them exactly once. Meanwhile a schedule of faults runs. Then all faults
are healed, the rest is read, and every promise that was made to a client is held against the log.
"""

from typing import Final

import trio

from tests.clients.simulation.copier import COPIES, copy
from tests.clients.simulation.ledger import Ledger, Values, check_copied_once
from tests.clients.simulation.members import (
    ALL,
    GROUP,
    Member,
    audit,
    come_and_go,
    options,
)
from tests.clients.simulation.plan import Plan, draw_plan
from tests.clients.simulation.spy import sent_bytes
from tests.clients.simulation.writers import PARTITIONS, TOPIC, write
from trio_kafka.testing.simulate import Simulation

SETTINGS: Final = {
    "num.io.threads": "2",
    "num.network.threads": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
LATE_S: Final = 3.0  # what a closed producer has sent may still arrive
PATIENCE_S: Final = 90.0  # for what is left to read when all is well again


async def system(sim: Simulation) -> None:
    """Run the scenario of a seed, and check it."""
    plan = draw_plan(sim.chance)
    await sim.kafka.create_topic(TOPIC, PARTITIONS)
    await sim.kafka.create_topic(COPIES, PARTITIONS)
    with sent_bytes() as notes:
        ledger = Ledger(sim.history, notes)
        await run(sim, ledger, plan)
    raw = await log(sim, TOPIC, committed=False)
    committed = await log(sim, TOPIC, committed=True)
    ledger.check_promises(raw)
    ledger.check_group(GROUP, committed)
    if not plan.commits_by_itself:
        ledger.check_commits_were_asked_for(GROUP)
    if plan.transactional:
        check_copied_once(committed, await log(sim, COPIES, committed=True))
    await sim.check([TOPIC])


async def run(sim: Simulation, ledger: Ledger, plan: Plan) -> None:
    """Run the clients, and let the group read the rest when all is well again."""
    done, written = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        for number in range(plan.members):
            nursery.start_soon(come_and_go, sim, ledger, plan, f"member-{number}", written)
        nursery.start_soon(audit, sim, ledger, GROUP, done)
        if plan.transactional:
            nursery.start_soon(copy, sim, ledger, done)
        async with sim.chaos(plan.faults), trio.open_nursery() as writers:
            for number in range(plan.writers):
                writers.start_soon(write, sim, ledger, plan, f"writer-{number}")
        written.set()
        await sim.heal()
        await trio.sleep(LATE_S)
        await sim.heal()  # a fault that had begun may have ended the broker meanwhile
        with trio.fail_after(PATIENCE_S):
            await read_the_rest(sim, ledger, plan)
        done.set()


async def read_the_rest(sim: Simulation, ledger: Ledger, plan: Plan) -> None:
    """Let one member read, a second at a time, until the group has processed all."""
    number = 0
    while not await is_all_done(sim, ledger, plan):
        member = Member(sim=sim, ledger=ledger, plan=plan, name=f"last/{number}")
        until = trio.current_time() + 3.0
        await member.live(options(plan, "last"), until=until, end="leave")
        number += 1


async def is_all_done(sim: Simulation, ledger: Ledger, plan: Plan) -> bool:
    """Return whether everything that is committed was processed, and copied."""
    records = await log(sim, TOPIC, committed=True)
    processed = ledger.processed[GROUP]
    if any(offset not in processed[at] for at in ALL for offset in records.get(at, {})):
        return False
    if not plan.transactional:
        return True
    copies = await log(sim, COPIES, committed=True)
    return sum(map(len, copies.values())) >= sum(map(len, records.values()))


async def log(sim: Simulation, topic: str, *, committed: bool) -> Values:
    """Return the values of a topic by partition and offset."""
    rows = await sim.log(topic, committed=committed)
    return {at: {n: row.value for n, row in records.items()} for at, records in rows.items()}
