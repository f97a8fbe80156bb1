"""Record what Apache Kafka 4.4 answers to raw SASL bytes.

    python -m tests.broker.sasl_exchanges.recording     plays all cases and writes `data/`

The test beside it holds this broker to the record.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import trio

from tests.broker.sasl_exchanges.brokers import JMX, TLS, apache_kafka, create_users
from tests.broker.sasl_exchanges.oauth import oauth_cases
from tests.broker.sasl_exchanges.opening import opening_cases
from tests.broker.sasl_exchanges.plain import plain_cases
from tests.broker.sasl_exchanges.player import play
from tests.broker.sasl_exchanges.scram import scram_cases
from tests.broker.sasl_exchanges.sessions import session_cases
from tests.broker.sasl_exchanges.steps import Case
from tests.broker.sasl_exchanges.tls_clients import shake_hands_in_all_ways
from tests.broker.sasl_exchanges.totals import totals_of_kafka
from trio_kafka.model import Endpoint
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.world.real import RealWorld

RECORD: Final = Path(__file__).parent / "data" / "kafka-4.4-sasl-exchanges.txt"
_AT_ONCE: Final = 16
Lines = dict[str, list[str]]  # by case
Connect = Callable[[str], AbstractAsyncContextManager[ScriptedClient]]


def cases() -> list[Case]:
    """All cases, whose names differ."""
    whole = [
        *opening_cases(),
        *plain_cases(),
        *scram_cases(),
        *oauth_cases(),
        *session_cases(),
    ]
    assert len({case.name for case in whole}) == len(whole)
    return whole


async def play_all(
    played: Sequence[Case], connect: Connect, now_s: Callable[[], int], *, at_once: int
) -> Lines:
    """Play cases, some at a time. connect: opens a connection to a listener."""
    lines: Lines = {case.name: [] for case in played}
    limiter = trio.CapacityLimiter(at_once)

    async def play_one(case: Case) -> None:
        async with limiter, connect(case.listener) as client:
            lines[case.name] = await play(case, client, now_s())

    async with trio.open_nursery() as nursery:
        for case in played:
            nursery.start_soon(play_one, case)
    return lines


def recorded() -> Lines:
    """The lines of Apache Kafka."""
    lines: Lines = {}
    name = ""
    for line in RECORD.read_text().splitlines():
        if line.startswith("  "):
            lines[name].append(line)
        else:
            name, lines[line] = line, []
    return lines


def as_text(lines: Mapping[str, Sequence[str]]) -> str:
    return "".join(
        f"{name}\n" + "".join(f"{row}\n" for row in rows) for name, rows in lines.items()
    )


def lines_of_apache_kafka(directory: Path) -> Lines:
    """Start it in a JVM and play all cases."""
    world = RealWorld()

    async def run(addresses: Mapping[str, Endpoint]) -> Lines:
        async with connected(world, addresses["PLAINTEXT"]) as client:
            await create_users(client)
        await shake_hands_in_all_ways(world, addresses[TLS])
        await trio.sleep(1)  # until the broker has read the users from its log
        return await play_all(
            cases(),
            lambda listener: connected(world, addresses[listener]),
            lambda: int(time.time()),
            at_once=_AT_ONCE,
        )

    with apache_kafka(directory) as addresses:
        lines = trio.run(run, addresses)
        return lines | totals_of_kafka(addresses[JMX])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        RECORD.write_text(as_text(lines_of_apache_kafka(Path(directory))))


if __name__ == "__main__":
    main()
