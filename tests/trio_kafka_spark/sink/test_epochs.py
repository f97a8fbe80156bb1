"""Decisions on epochs: each case, and a model of runs that die, fail or go on at any step."""

import random
from collections import Counter
from collections.abc import Callable, Generator
from typing import Final

import pytest
from attrs import define, field

from trio_kafka_spark.client.coordinator import Transaction
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.sink.epochs import Epoch, Run, check_open, decide, decide_abort, lost_after
from trio_kafka_spark.sink.options import TransactionOptions

OPTIONS: Final = TransactionOptions(prefix="p")
OWN, OTHER = OPTIONS.ids_of(Run("q", "r1")), OPTIONS.ids_of(Run("q", "r2"))
TASKS: Final = 2


def transaction(name: str, epoch: int = 0) -> Transaction:
    return Transaction(transactional_id=name, producer_id=7, epoch=epoch)


MINE: Final = (transaction(f"{OWN}0-0"), transaction(f"{OWN}1-0"))
FAILED: Final = transaction(f"{OWN}1-1")
THEIRS: Final = (transaction(f"{OTHER}0-0"), transaction(f"{OTHER}1-0"))


def by_id(*transactions: Transaction) -> dict[str, Transaction]:
    return {each.transactional_id: each for each in transactions}


@pytest.mark.parametrize("last", [None, Epoch(number=4, transactions=THEIRS)])
def test_an_epoch_is_listed_and_all_else_that_is_open_is_aborted(last: Epoch | None) -> None:
    open_now = by_id(*MINE, FAILED, *THEIRS)

    decision = decide(5, MINE, last=last, open_now=open_now, own=OWN)

    garbage = (FAILED, *THEIRS)
    assert decision.write == Epoch(number=5, transactions=MINE, garbage=garbage)
    assert decision.commit == MINE
    assert decision.abort == garbage


def test_a_decided_epoch_is_committed_as_listed_and_its_replay_is_aborted() -> None:
    garbage = transaction(f"{OTHER}1-1")
    last = Epoch(number=5, transactions=THEIRS, garbage=(garbage,))

    decision = decide(5, MINE, last=last, open_now=by_id(*MINE, *THEIRS, garbage), own=OWN)

    assert decision.write is None
    assert decision.commit == THEIRS
    assert set(decision.abort) == {*MINE, garbage}


def test_a_late_run_leaves_the_next_epoch_of_another_run_alone() -> None:
    last = Epoch(number=5, transactions=THEIRS)
    following = transaction(THEIRS[0].transactional_id, epoch=1)

    decision = decide(5, MINE, last=last, open_now=by_id(*MINE, following), own=OWN)

    assert set(decision.abort) == set(MINE)


def test_a_run_behind_the_list_commits_nothing_and_gets_the_reason() -> None:
    last = Epoch(number=6, transactions=THEIRS)

    with pytest.raises(SourceError, match=r"\[KAFKA_EPOCH_SUPERSEDED\] epoch 5: .* epoch 6"):
        decide(5, MINE, last=last, open_now=by_id(*MINE), own=OWN)


@pytest.mark.parametrize("now", [[], [transaction(MINE[1].transactional_id, epoch=1)]])
def test_a_transaction_that_has_ended_before_the_decision_fails_the_epoch(
    now: list[Transaction],
) -> None:
    with pytest.raises(SourceError) as caught:
        decide(5, MINE, last=None, open_now=by_id(MINE[0], *now), own=OWN)

    assert caught.value.condition == "KAFKA_TRANSACTION_LOST"
    text = str(caught.value)
    assert "epoch 5: 1 transactions" in text
    assert f"{OWN}1-0 (producer id 7, epoch 0)" in text
    assert "Nothing was committed" in text
    assert "transactionTimeoutMs" in text


def test_a_failed_epoch_is_aborted_but_for_what_is_decided() -> None:
    open_now = by_id(*MINE, FAILED, *THEIRS)
    decided = Epoch(number=5, transactions=MINE)
    before = Epoch(number=4, transactions=MINE)

    assert decide_abort(5, last=decided, open_now=open_now, own=OWN) == (FAILED,)
    for last in (None, before):
        assert set(decide_abort(5, last=last, open_now=open_now, own=OWN)) == {*MINE, FAILED}


def test_a_list_is_read_as_it_was_written() -> None:
    epoch = Epoch(number=3, transactions=MINE, garbage=(FAILED,))

    assert Epoch.from_bytes(epoch.to_bytes()) == epoch


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{}",
        b'{"version":2,"epoch":1,"transactions":[],"garbage":[]}',
        b'{"version":1,"epoch":1,"transactions":[]}',
        b'{"version":1,"epoch":1,"transactions":[[1]],"garbage":[]}',
    ],
)
def test_a_list_of_another_form_is_an_error(value: bytes) -> None:
    with pytest.raises(SourceError, match="KAFKA_EPOCH_LIST_UNREADABLE"):
        Epoch.from_bytes(value)


def test_errors_name_ten_transactions_and_count_the_rest() -> None:
    many = [transaction(f"{OWN}{number}-0") for number in range(12)]

    with pytest.raises(SourceError, match=r"epoch 0\) and 2 more"):
        check_open("the write", many, {})
    text = str(lost_after("epoch 5", many[:1], many))
    assert "epoch 5: 1 of 12 transactions" in text
    assert "exactlyOnce=false" in text


# --- the model


@define
class Broker:
    """Transactions by id, the latest list, and who may add the next one."""

    open_now: dict[str, Transaction] = field(factory=dict)
    values: dict[Transaction, str] = field(factory=dict)
    ended: dict[Transaction, bool] = field(factory=dict)
    epochs: Counter[str] = field(factory=Counter)
    last: Epoch | None = None
    fence: int = 0
    noted: int = -1  # the last epoch in Spark's own log of commits

    def begin(self, name: str, value: str) -> Transaction:
        before = self.open_now.pop(name, None)
        if before is not None:
            self.ended[before] = False
        self.epochs[name] += 1
        begun = self.open_now[name] = transaction(name, self.epochs[name])
        self.values[begun] = value
        return begun

    def end(self, each: Transaction, *, commit: bool) -> bool:
        if self.open_now.get(each.transactional_id) == each:
            del self.open_now[each.transactional_id]
            self.ended[each] = commit
        # An earlier epoch of an id has no answer any more, however it ended.
        return each.epoch == self.epochs[each.transactional_id] and self.ended[each] == commit

    def visible(self) -> list[str]:
        return sorted(self.values[each] for each, commit in self.ended.items() if commit)


def run_of_query(broker: Broker, name: str, last: int) -> Generator[None, None, None]:
    """Run epochs after the last noted one, with a pause wherever a process may be killed."""
    own = OPTIONS.ids_of(Run("q", name))
    for number in range(broker.noted + 1, last + 1):
        prepared = []
        try:
            for task in range(TASKS):
                if number % 2:
                    broker.begin(f"{own}{task}-1", "of a task that was killed")
                    yield
                prepared.append(broker.begin(f"{own}{task}-0", f"{number}-{task}"))
                yield
            yield from commit(broker, number, prepared, own)
        except SourceError:
            yield from abort(broker, number, own)
            return
        if broker.noted != number - 1:
            return  # Spark: another run has committed this epoch
        broker.noted = number
        yield


def commit(
    broker: Broker, number: int, prepared: list[Transaction], own: str
) -> Generator[None, None, None]:
    while True:
        broker.fence += 1
        fence = broker.fence
        yield
        last = broker.last
        yield
        open_now = dict(broker.open_now)
        decision = decide(number, prepared, last=last, open_now=open_now, own=own)
        yield
        if decision.write is None:
            break
        if broker.fence == fence:
            broker.last = decision.write
            yield
            break
    for each in decision.commit:
        if not broker.end(each, commit=True):
            raise lost_after(f"epoch {number}", [each], decision.commit)
        yield
    for each in decision.abort:
        broker.end(each, commit=False)
        yield


def abort(broker: Broker, number: int, own: str) -> Generator[None, None, None]:
    """Abort an epoch, as Spark asks for after a failure of a task or of the commit."""
    broker.fence += 1
    yield
    last = broker.last
    yield
    open_now = {name: each for name, each in broker.open_now.items() if name.startswith(own)}
    for each in decide_abort(number, last=last, open_now=open_now, own=own):
        broker.end(each, commit=False)
        yield


def test_each_epoch_is_visible_once_whatever_runs_are_killed_or_go_on_as_zombies(
    seeds: Callable[[int, int], list[int]],
) -> None:
    for seed in seeds(300, 5000):
        dice = random.Random(seed)
        broker, last, started = Broker(), 3, 0
        runs: list[Generator[None, None, None]] = []
        for step in range(2000):
            if broker.noted == last:
                break
            calm = step > 800  # the last run is left alone
            if not runs or (len(runs) < 3 and not calm and dice.random() < 0.03):
                started += 1
                runs.append(run_of_query(broker, f"r{started}", last))
            run = dice.choice(runs)
            fails = not calm and dice.random() < 0.02
            try:
                if fails:
                    run.throw(SourceError("KAFKA_UNAVAILABLE", "an outage"))
                else:
                    next(run)
            except (SourceError, StopIteration):
                runs.remove(run)
            else:
                if not calm and dice.random() < 0.04:
                    runs.remove(run)

        assert broker.noted == last, seed
        expected = [f"{number}-{task}" for number in range(last + 1) for task in range(TASKS)]
        assert broker.visible() == expected, seed
