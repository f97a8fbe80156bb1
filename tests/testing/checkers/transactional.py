"""Correct histories of transactions, from a model of a broker, and mutations that break them."""

from collections.abc import Callable, Sequence
from random import Random

from attrs import define, evolve, field

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import History, NotedTransaction, Read

PARTITIONS = 3
Log = dict[TopicPartition, dict[int, str]]


@define
class Run:
    """A history with the committed log of the broker that it came from.

    aborted: records of aborted transactions with their places. unknown: places of the records of
    each committed transaction whose client was not told.
    """

    history: History = field(factory=History)
    log: Log = field(factory=lambda: {at(number): {} for number in range(PARTITIONS)})
    aborted: list[tuple[TopicPartition, int, str]] = field(factory=list)
    unknown: list[list[tuple[TopicPartition, int]]] = field(factory=list)
    committed: list[tuple[TopicPartition, int]] = field(factory=list)
    early: list[tuple[int, TopicPartition, int, str]] = field(factory=list)


def at(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def correct_run(outcomes: Sequence[str], seed: int) -> Run:
    """Return a run with one transaction for each outcome: commit, abort, lost, unknown, none.

    lost: the commit arrives, its answer does not. unknown: the commit does not arrive. none: the
    producer never asks. Two readers poll in between. Every second aborted record is sent again.
    """
    chance, run = Random(seed), Run()
    ends = dict.fromkeys(run.log, 0)
    positions = {(reader, place): 0 for reader in ("r", "s") for place in run.log}
    again: list[str] = []
    for reader, place in positions:
        run.history.positioned(reader, place.topic, place.partition, offset=0)
    for number, outcome in enumerate(outcomes):
        noted = run.history.transaction(f"p{number % 3}")
        written: list[tuple[TopicPartition, int, str]] = []
        for count in range(chance.randrange(1, 5)):
            place = at(chance.randrange(PARTITIONS))
            record = again.pop() if again else f"{number}.{count}"
            _append(noted, place, ends[place], record)
            written.append((place, ends[place], record))
            ends[place] += 1
        for place in {place for place, _, _ in written}:
            ends[place] += 1  # the marker
        if outcome != "none":
            run.early += [(len(run.history.events), *each) for each in written]
        _end(run, noted, written, outcome=outcome)
        if outcome == "abort":
            again += [record for _, _, record in written[::2]]
        for (reader, place), position in positions.items():
            if chance.random() < 0.5:
                positions[reader, place] = _poll(run, reader, place, position)
    for (reader, place), position in positions.items():
        _poll(run, reader, place, position)
    return run


def _append(noted: NotedTransaction, place: TopicPartition, offset: int, record: str) -> None:
    noted.sent(place.topic, record, partition=place.partition)
    noted.acknowledged(place.topic, place.partition, record, offset=offset)


def _end(
    run: Run,
    noted: NotedTransaction,
    written: list[tuple[TopicPartition, int, str]],
    *,
    outcome: str,
) -> None:
    if outcome in {"commit", "lost", "unknown"}:
        noted.committing()
    if outcome in {"commit", "lost"}:
        for place, offset, record in written:
            run.log[place][offset] = record
    places = [(place, offset) for place, offset, _ in written]
    if outcome == "commit":
        noted.committed()
        run.committed += places
    elif outcome == "abort":
        noted.aborted()
        run.aborted += written
    elif outcome == "lost":
        run.unknown.append(places)


def _poll(run: Run, reader: str, place: TopicPartition, position: int) -> int:
    for offset, record in run.log[place].items():
        if offset >= position:
            run.history.read(reader, place.topic, place.partition, record, offset=offset)
            position = offset + 1
    return position


# Mutations. Each returns the rule that must find it, or None if the run has no place for it.


def read_aborted(run: Run, chance: Random) -> str | None:
    """A reader sees a record of an aborted transaction."""
    if not run.aborted:
        return None
    place, offset, record = chance.choice(run.aborted)
    run.history.read("z", place.topic, place.partition, record, offset=offset)
    return "aborted read"


def show_aborted(run: Run, chance: Random) -> str | None:
    """An aborted transaction got the marker of a commit in one partition."""
    if not run.aborted:
        return None
    place, offset, record = chance.choice(run.aborted)
    run.log[place][offset] = record
    return "aborted read"


def lose_record(run: Run, chance: Random) -> str | None:
    """A committed transaction got the marker of an abort in one partition."""
    if not run.committed:
        return None
    place, offset = chance.choice(run.committed)
    del run.log[place][offset]
    return "lost"


def tear(run: Run, chance: Random) -> str | None:
    """A transaction of unknown outcome is seen in part, and nobody has read the rest."""
    whole = [places for places in run.unknown if len(places) > 1]
    if not whole:
        return None
    gone = chance.choice(whole)[0]
    del run.log[gone[0]][gone[1]]
    run.history.events[:] = [
        event
        for event in run.history.events
        if not (isinstance(event, Read) and (event.at, event.offset) == gone)
    ]
    return "torn"


def skip(run: Run, chance: Random) -> str | None:
    """A poll leaves out a record between two that it returns."""
    events = run.history.events
    numbers = [
        number
        for number, event in enumerate(events)
        if isinstance(event, Read) and event.offset < max(run.log[event.at])
    ]
    if not numbers:
        return None
    del events[chance.choice(numbers)]
    return "skipped"


def read_early(run: Run, chance: Random) -> str | None:
    """A reader sees a record of a transaction that is still open, and is committed later."""
    places = [each for each in run.early if each[2] in run.log[each[1]]]
    if not places:
        return None
    number, place, offset, record = chance.choice(places)
    event = Read(
        consumer="z",
        group=None,
        topic=place.topic,
        partition=place.partition,
        offset=offset,
        record=record,
    )
    run.history.events.insert(number, event)
    return "early read"


def double(run: Run, chance: Random) -> str | None:
    """A committed record is in the log twice."""
    if not run.committed:
        return None
    place, offset = chance.choice(run.committed)
    run.log[place][1000] = run.log[place][offset]
    return "doubled"


def replace(run: Run, chance: Random) -> str | None:
    """An offset has another record than the one that its producer was told."""
    if not run.committed:
        return None
    place, offset = chance.choice(run.committed)
    run.log[place][offset] = "another"
    return "replaced"


def read_twice(run: Run, chance: Random) -> str | None:
    """A reader goes back to a record that it has read."""
    reads = [event for event in run.history.events if isinstance(event, Read)]
    if not reads:
        return None
    run.history.events.append(evolve(chance.choice(reads)))
    return "order"


Mutation = Callable[[Run, Random], str | None]
MUTATIONS: tuple[Mutation, ...] = (
    read_aborted,
    show_aborted,
    lose_record,
    tear,
    skip,
    read_early,
    double,
    replace,
    read_twice,
)
