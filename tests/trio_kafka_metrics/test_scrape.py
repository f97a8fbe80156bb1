import pytest
import trio
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from trio.testing import MockClock

from tests.trio_kafka_http.kit import http_client
from tests.trio_kafka_metrics.kit import OPEN, address_of, harness, scrape, values
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_http.plugin import http
from trio_kafka_metrics.collection import Collection
from trio_kafka_metrics.plugin import metrics


async def test_scrape_returns_metrics_in_plain_text_and_in_openmetrics(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 2)
        result = await values(plugin_harness)
        answer = await scrape(plugin_harness, OPEN)

    assert result["kafka_server_replicamanager_partitioncount"] == 2
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    names = [family.name for family in text_string_to_metric_families(answer.body.decode())]
    assert "kafka_log_log_size" in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [("GET", "/", 200), ("HEAD", "/", 200), ("POST", "/", 405), ("GET", "/other", 404)],
)
async def test_scrape_allows_only_get_and_head_of_the_root_path(
    autojump_clock: MockClock, method: str, target: str, status: int
) -> None:
    async with harness() as plugin_harness:
        answer = await scrape(plugin_harness, method=method, target=target)

    assert answer.status == status
    assert bool(answer.body) == (method != "HEAD")


async def test_concurrent_scrapes_share_one_collection(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count_looks(monkeypatch, slow=True)
    async with harness() as plugin_harness:
        await scrape(plugin_harness)
        looks.clear()
        answers = []

        async def ask() -> None:
            answers.append(await scrape(plugin_harness))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)

        assert len(looks) == 1
        await scrape(plugin_harness)
        assert len(looks) == 2

    assert len({answer.body for answer in answers}) == 1


async def test_waiting_scrapes_collect_again_if_the_running_scrape_is_cancelled(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count_looks(monkeypatch, slow=True)
    async with harness() as plugin_harness:
        leaving, answers = trio.CancelScope(), []

        async def leave() -> None:
            with leaving:
                await scrape(plugin_harness)

        async def stay() -> None:
            answers.append(await scrape(plugin_harness))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(stay)
            nursery.start_soon(stay)
            await trio.testing.wait_all_tasks_blocked()
            leaving.cancel()

    assert [answer.status for answer in answers] == [200, 200]
    assert len(looks) == 2


def count_looks(monkeypatch: pytest.MonkeyPatch, *, slow: bool = False) -> list[Collection]:
    looks, look = [], Collection.look

    async def counted(self: Collection):
        looks.append(self)
        if slow:
            await trio.sleep(1)
        return await look(self)

    monkeypatch.setattr(Collection, "look", counted)
    return looks


async def test_http_plane_serves_the_metrics(autojump_clock: MockClock) -> None:
    async with (
        served_broker(simulated_world(), plugins=(http, metrics)) as served,
        http_client(served.broker.world, address_of(served.broker)) as client,
    ):
        answer = await client.ask("GET", "/metrics")

    assert answer.status == 200
    assert b"\nkafka_server_kafkaserver_brokerstate 3.0\n" in answer.body
