import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.brokers import Broker, started
from tests.benchmarks.server import Server
from tests.benchmarks.soak import mixed, planes
from tests.benchmarks.soak.__main__ import main
from tests.benchmarks.soak.bounds import AuditInterceptor, Bound, show
from tests.benchmarks.soak.load import Load, running_load
from tests.benchmarks.soak.minutes import Minute, observe, verdict
from tests.benchmarks.topics import temporary_topic


@pytest.mark.parametrize(
    ("last", "met"), [(100, True), (110, True), (90, True), (111, False), (89, False)]
)
def test_memory_at_the_end_must_be_within_a_tenth_of_the_fifth_minute(
    last: float, met: bool
) -> None:
    rss = {1: 10, 4: 50, 5: 100, 6: 900, 7: last}

    judged, text = verdict(rss)

    assert judged is met
    assert f"{last / 100:.3f} times" in text
    assert ("met" if met else "missed") in text


@pytest.mark.parametrize("minutes", [0, 1, 5])
def test_memory_of_a_run_of_at_most_five_minutes_is_not_judged(minutes: int) -> None:
    judged, text = verdict({minute: 100 * minute for minute in range(1, minutes + 1)})

    assert judged
    assert "not judged" in text


def test_figures_of_a_minute_are_printed_on_one_line() -> None:
    minute = Minute(7, 61.24e6, 0.5, {"connection": 9, "Fetch.waiting": 2})

    words = " ".join(str(minute).split())
    assert words == "7 min 61.2 MB 0.50 cores connection 9 Fetch.waiting 2"


def test_failing_part_of_the_load_stops_the_load_and_is_reported() -> None:
    def fail(load: Load, topic: str) -> None:
        raise ValueError(f"{topic} is gone")

    def wait(load: Load, topic: str) -> None:
        load.stop.wait(20)

    load = Load(Broker("a", ("127.0.0.1", 1), Server(1)))

    with running_load(load, "t", (wait, fail)):
        assert load.stop.wait(20)
        assert list(observe(load, 3)) == []

    assert load.errors == ["fail: ValueError: t is gone"]


def test_paced_work_ends_when_the_load_is_stopped() -> None:
    load = Load(Broker("a", ("127.0.0.1", 1), Server(1)))
    numbers = load.paced(0.001)

    assert [next(numbers), next(numbers)] == [0, 1]
    load.stop.set()
    assert list(numbers) == []


@pytest.mark.slow
def test_every_part_of_the_mixed_load_does_work_without_errors(tmp_path: Path) -> None:
    with started("trio-kafka", tmp_path, *mixed.SETTINGS) as broker:
        load = Load(broker)
        with (
            temporary_topic(broker.bootstrap, 1, mixed.KEPT) as topic,
            running_load(load, topic, mixed.PARTS),
        ):
            minutes = list(observe(load, 2, minute_s=2))

    assert load.errors == []
    assert [minute.number for minute in minutes] == [1, 2]
    assert all(minute.rss > 20e6 and minute.cores > 0 for minute in minutes)
    assert load.done["records read"] > 5 * 8333  # of large batches, one after the other
    assert minutes[0].counts["selector"] > 0
    assert minutes[0].counts["Fetch.waiting"] >= 0
    assert all(
        load.done[name] > 0
        for name in (
            "large produce",
            "small produce",
            "poll",
            "metadata, versions",
            "connections",
            "wide produce",
            "wide poll",
            "topics",
        )
    )


@pytest.mark.slow
def test_short_soak_prints_each_minute_and_the_work_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--minutes", "2", "--minute", "0.5", "--directory", str(tmp_path)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["1", "min"], ["2", "min"]]
    assert lines[0].startswith("broker: 127.0.0.1:")
    assert "small produce" in lines[3]
    assert "not judged" in lines[-1]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_planes_stay_within_their_bounds_under_mixed_load(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ten seconds of everything at once: crowds, giants, readers that do not read, changes."""
    arguments = ["--planes", "--check", "--minutes", "2", "--minute", "5", "--connections", "100"]

    status = main([*arguments, "--directory", str(tmp_path)])

    out = capsys.readouterr().out
    assert status == 0, out
    lines = out.splitlines()
    (done,) = (line.removeprefix("done: ") for line in lines if line.startswith("done: "))
    assert {word.partition(" ")[2] for word in done.split(", ") if not word.startswith("0 ")} >= {
        "ask",
        "changes refused by a quota",
        "connects in haste",
        "connects of storms",
        "fetch",
        "fetched above a quota",
        "giants promised",
        "listeners",
        "parked poll",
        "produce",
        "produced above a quota",
        "readers that never read",
        "reloads",
        "resets",
        "sizes",
    }
    verdicts = {line.partition(":")[0]: line for line in lines if line.endswith(": kept")}
    assert verdicts.keys() >= {
        "RSS MB",
        "connections",
        "connections of STORM",
        "descriptors",
        "held",
        "new-connections",
        "pool MB",
        "requests",
        "tasks",
        "after the load, connections",
        "after the load, pool MB",
        "after the load, requests",
        "after the load, tasks",
        "after the load, unsent MB",
    }
    most, _, bound, _ = verdicts["connections of STORM"].split()[3:]
    assert bound == "50:"
    assert float(most) > 25  # the storm was one


def test_verdict_of_an_exceeded_bound_shows_the_excess() -> None:
    assert Bound(10, 10).verdict("queue") == "queue: 10 of 10: kept"
    assert Bound(10, 10.5).verdict("queue") == "queue: 10.5 of 10: exceeded by 0.5"
    numbers = [show(value) for value in (0, 0.0304, 5, 1234.56, 0.00000001)]
    assert numbers == ["0", "0.03", "5", "1234.6", "0"]


def test_verdict_fails_if_any_watched_bound_was_exceeded() -> None:
    watch = AuditInterceptor(Broker("a", ("127.0.0.1", 1), Server(1)), planes.limits(100))
    watch.bounds = {"b": Bound(1, 2), "a": Bound(1, 1)}

    assert watch.verdicts() == (False, ["a: 1 of 1: kept", "b: 2 of 1: exceeded by 1"])


@pytest.mark.slow
@pytest.mark.parametrize("program", ["tests.benchmarks.soak", "tests.benchmarks"])
def test_terminated_run_leaves_no_broker_process_and_no_files(program: str, tmp_path: Path) -> None:
    of_one = ["--broker", "trio-kafka", "--directory", str(tmp_path)]
    command = [sys.executable, "-u", "-m", program, *of_one]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline()  # its broker serves
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        run.terminate()

        assert run.wait(30) == 128 + signal.SIGTERM

    assert children
    assert not [child for child in children if Path("/proc", child).exists()]
    assert list(tmp_path.iterdir()) == []
