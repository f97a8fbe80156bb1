"""Rows in small, on this broker: that they ask what they say, not what it costs."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from attrs import evolve

from tests.benchmarks import protocol
from tests.benchmarks.bounds import Bound
from tests.benchmarks.brokers import started
from tests.benchmarks.connection import connect
from tests.benchmarks.rows import (
    beside,
    control_plane,
    create,
    idle,
    memory,
    restart,
    sessions,
    small,
    validation,
)
from tests.benchmarks.rows.registry import NotApplicableError, Target, all_rows
from tests.benchmarks.topics import temporary_topic, watermarks
from tests.benchmarks.tree import figures_of, longest_turn_ms, rows_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    directory = tmp_path_factory.mktemp("rows")
    with started("trio-kafka", directory) as broker:
        yield Target(broker=broker, seconds=0.1, limit=2_000_000, directory=directory)


def bounds(name: str) -> tuple[Bound, ...]:
    return all_rows()[name].bounds


def test_produce_to_many_partitions_is_measured(target: Target) -> None:
    figures = small.produce_many(target, partitions=7)

    assert figures["server CPU"].value > 0
    assert {bound.figure for bound in bounds("produce-100-partitions")} <= set(figures)


@pytest.mark.parametrize("setting", ["header", "full"])
def test_both_settings_of_validation_are_measured(target: Target, setting: str) -> None:
    figures = validation.validation(target, setting, compiled=False)

    assert all(figure.value > 0 for figure in figures.values())
    assert {bound.figure for bound in bounds(f"validation-{setting}")} <= set(figures)


def test_topic_creation_is_measured_beside_another_client(target: Target) -> None:
    figures = create.create_topics(target, topics=5, partitions=2)

    assert all(figure.value > 0 for figure in figures.values())
    assert {bound.figure for bound in bounds("create-topics")} <= set(figures)


def test_control_plane_latency_is_measured_with_and_without_load(target: Target) -> None:
    load = control_plane.Load(producing=2, fetching=1, asking=1, topics=3)

    figures = control_plane.control_plane(target, load)

    assert all(figure.value > 0 for figure in figures.values())
    for name in "control-plane", "control-plane-long":
        assert {bound.figure for bound in bounds(name)} <= set(figures)


def test_fetches_of_sessions_are_measured_for_each_session_size(target: Target) -> None:
    figures = sessions.fetch_session(target, sizes=(2, 20))

    assert set(figures) == {
        "2 partitions, read",
        "20 partitions, read",
        "2 partitions, woken",
        "20 partitions, woken",
    }
    assert all(figure.value > 0 for figure in figures.values())
    assert open_sessions(target) == 0


def test_session_refuses_a_response_with_records_of_another_partition(target: Target) -> None:
    with target.topic(3) as topic, connect(target.broker.address) as connection:
        session = sessions.Session(connection, topic, [0, 0, 0])
        connection.call(sessions.one_record(topic, 2))
        session.ask(1, 0)

        with pytest.raises(ValueError, match="want bytes of partition 1 alone"):
            session.answer(1)
        session.end()


def open_sessions(target: Target) -> int:
    (row,) = rows_of(target.broker.address, "replica-manager/fetch-sessions")
    return int(figures_of(row)["sessions"] or 0)


def test_idle_connections_are_held_at_the_same_time(target: Target) -> None:
    with idle.held(target.broker.address, 30) as connections:
        assert len({each.getsockname() for each in connections}) == 30

    figures = idle.idle(target, count=30)

    assert {bound.figure for bound in bounds("idle-5000")} <= set(figures)


def test_idle_row_fails_if_the_broker_closes_an_idle_connection(target: Target) -> None:
    with (
        pytest.raises(ConnectionError, match="closed while it was idle"),
        idle.held(target.broker.address, 2) as connections,
    ):
        connections[1].sendall(b"\xff" * 4)  # a frame of negative size: it is closed for that
        connections[1].settimeout(10)
        connections[1].recv(1)


def test_cpu_time_is_measured_for_waiting_and_for_repeated_long_polls(target: Target) -> None:
    figures = idle.parked(target, partitions=12, polls=4)

    assert figures["polled"].value > 0
    assert {bound.figure for bound in bounds("idle-parked")} <= set(figures)


def test_row_of_waiting_long_polls_fails_if_a_poll_returns_early(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "_PARKED_MS", 0)

    with pytest.raises(ConnectionError, match="a poll is not parked"):
        idle.parked(target, partitions=2, polls=2)


def test_latency_is_measured_while_another_process_writes(target: Target) -> None:
    figures = beside.latency_beside_produce(evolve(target, seconds=0.3), mb_s=20)

    assert 0 < figures["p50"].value <= figures["p99"].value <= figures["p99.9"].value
    assert 0 < figures["produce"].value < 30
    assert any(name.startswith("longest turn") for name in figures)
    assert {bound.figure for bound in bounds("latency-beside-produce")} <= set(figures)


def test_requests_sent_on_schedule_are_all_counted(target: Target) -> None:
    took = beside.ask_on_time(target.broker.address, 0.01, 0.2)

    assert len(took) == 20
    assert min(took) > 0


def test_latency_of_each_response_counts_from_its_own_request_if_responses_arrive_together() -> (
    None
):
    request, answer = protocol.frame(protocol.API_VERSIONS, 0), b"\0\0\0\4" + bytes(4)

    def serve(listener: socket.socket) -> None:
        with listener.accept()[0] as first:
            first.recv(1024)
            first.sendall(answer)
        with listener.accept()[0] as second, second.makefile("rb") as requests:
            requests.read(5 * len(request))
            second.sendall(5 * answer)
            second.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        took = beside.ask_on_time(listener.getsockname(), 0.01, 0.05)
        server.join()

    assert len(took) == 5
    assert took == sorted(took, reverse=True)
    assert took[0] > 0.03


def test_failing_writer_process_fails_the_row(target: Target) -> None:
    with (
        pytest.raises(ConnectionError, match="the writer ended early"),
        beside.writing(target.broker.address, "no-such-topic", b"no batch", 1e6),
    ):
        pass


def test_memory_after_load_is_measured_on_a_fresh_broker(target: Target) -> None:
    figures = memory.rss_after_load(target)

    assert 20 < figures["RSS"].value < 500
    assert {bound.figure for bound in bounds("rss-after-load")} <= set(figures)


def test_fresh_broker_has_another_address_and_process(target: Target) -> None:
    with target.fresh() as fresh:
        assert fresh.broker.address != target.broker.address
        assert fresh.broker.server.pid != target.broker.server.pid


def test_fresh_broker_is_not_available_for_a_broker_already_running(target: Target) -> None:
    running = evolve(target, broker=evolve(target.broker, start=None))

    with pytest.raises(NotApplicableError), running.fresh():
        pass


def test_temporary_topic_has_the_wanted_partitions_and_is_deleted_afterwards(
    target: Target,
) -> None:
    bootstrap = target.broker.bootstrap

    with temporary_topic(bootstrap, 5, {"retention.bytes": "1"}) as topic:
        assert watermarks(bootstrap, topic, 4) == (0, 0)
        assert comes_to(target, 5)

    assert comes_to(target, 0)


def comes_to(target: Target, expected: int) -> bool:
    """Topics of clients have so many partitions soon. A consumer has `__consumer_offsets` made,
    whatever it does: that has partitions before it has shards.
    """
    end = time.monotonic() + 10
    while (result := partitions(target)) != expected and time.monotonic() < end:
        time.sleep(0.02)
    return result == expected


def partitions(target: Target) -> int:
    [replicas], [groups] = (
        [figures_of(row) for row in rows_of(target.broker.address, path)[:1]]
        for path in ("replica-manager", "group-coordinator")
    )
    return int(replicas["partitions"] or 0) - int(groups["shards"] or 0)


def test_longest_turn_of_the_event_loop_is_read_from_the_tree(target: Target) -> None:
    longest = longest_turn_ms(target.broker.address)

    assert longest is not None
    assert longest > 0


def test_restart_rows_reuse_the_logs_written_by_an_earlier_run(target: Target) -> None:
    for _ in range(2):  # the second time without writing
        many = restart.start_many(target, partitions=3, segments=3)
        killed = restart.recover(target, partitions=2, size=100_000)

    assert {bound.figure for bound in bounds("start-2000-partitions")} <= set(many)
    assert {bound.figure for bound in bounds("recovery-2-GiB")} <= set(killed)
    stopped = restart.stop_and_start(target, partitions=20)
    assert {bound.figure for bound in bounds("stop-and-start-9000-partitions")} <= set(stopped)
    logs = list((target.directory / "trio-kafka-many-logs").rglob("kept-*/*.log"))
    assert len(logs) == 9
    written = (target.directory / "trio-kafka-large-logs").rglob("kept-*/*.log")
    assert sum(log.stat().st_size for log in written) > 90_000
