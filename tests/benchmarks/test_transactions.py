"""The rows of transactions in small, on this broker: that they ask what they say."""

from collections.abc import Iterator

import pytest

from tests.benchmarks.brokers import started
from tests.benchmarks.figures import Figures
from tests.benchmarks.rows import transaction_state, transactions
from tests.benchmarks.rows.registry import Target, all_rows
from tests.benchmarks.topics import watermarks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    directory = tmp_path_factory.mktemp("transactions")
    with started("trio-kafka", directory, transaction_state.ONE_PARTITION) as broker:
        yield Target(broker=broker, seconds=0.2, limit=2_000_000, directory=directory)


def check_bounds(name: str, figures: Figures) -> None:
    assert {bound.figure for bound in all_rows()[name].bounds} <= set(figures)
    assert all(figure.value > 0 for figure in figures.values())


@pytest.mark.parametrize("version", [1, 2])
def test_transactions_of_one_record_are_measured_in_both_protocols(
    target: Target, version: int
) -> None:
    figures = transactions.transactions(target, version, producers=2, partitions=2)

    check_bounds(f"transactions-1-record-version-{version}", figures)


def test_readers_of_aborted_transactions_are_measured(target: Target) -> None:
    figures = transactions.fetch(target, count=40)

    check_bounds("fetch-of-10000-transactions", figures)
    low, high = watermarks(target.broker.bootstrap, transactions.written(target, 40))
    assert (low, high) == (0, 80)  # written once: a record and a marker for each


def test_stored_states_of_transactional_ids_are_loaded(target: Target) -> None:
    figures = transaction_state.load(target, records=250, ids=20)

    check_bounds("transaction-state-load-1000000", figures)
