"""The admin client on Trio, with faults, in virtual time."""

import pytest
import trio

from tests.clients.admin.scenarios import PLAIN
from trio_kafka.clients import open_admin
from trio_kafka.clients.admin.calls.execution import Exchange
from trio_kafka.clients.admin.records import HIGH_WATERMARK, LATEST
from trio_kafka.clients.admin.topic_values import NewPartitions, NewTopic
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import TimedOutError, TopicError, UnsupportedError
from trio_kafka.config.setting import ConfigError
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.simulate import simulate

TOPICS = [NewTopic("a", num_partitions=2), NewTopic("b")]
IN_A_LOOP = [scenario for scenario in PLAIN if "log_directories" not in scenario.__name__]


def admin_of(sim, *, tree=None, **settings):
    named = {name.replace("_", "."): value for name, value in settings.items()}
    config = {"bootstrap.servers": str(sim.lives.address), **named}
    return open_admin(config, world=sim.clients, tree=tree)


def created(sim):
    return len(sim.kafka.controls.recorder.requests("CreateTopics"))


@pytest.mark.slow
@simulate(seeds=1)
async def test_calls_of_several_tasks_share_one_client(sim):
    async with admin_of(sim) as admin, trio.open_nursery() as nursery:
        for scenario in IN_A_LOOP:
            nursery.start_soon(admin.run, scenario(scenario.__name__[:30].replace("_", "-")))


@simulate(seeds=1)
async def test_call_after_a_lost_connection_says_that_it_may_have_been_carried_out(
    sim,
):
    lost = FaultRule(api="CreateTopics", disconnect="after", times=1)
    async with admin_of(sim) as admin:
        with sim.kafka.controls.faults.add(lost):
            results = await admin.create_topics(TOPICS)

    errors = results.errors.values()
    assert {error.code for error in errors} == {ErrorCode.TOPIC_ALREADY_EXISTS}
    assert all(error.sent for error in errors)


@simulate(seeds=1)
async def test_connection_that_is_lost_before_the_request_is_served_is_not_noticed(sim):
    lost = FaultRule(api="CreateTopics", disconnect="before", times=2)
    async with admin_of(sim) as admin:
        with sim.kafka.controls.faults.add(lost):
            assert set((await admin.create_topics(TOPICS)).all()) == {"a", "b"}


@simulate(seeds=1)
async def test_metadata_are_refreshed_after_a_lost_connection(sim):
    lost = FaultRule(api="CreateTopics", disconnect="before", times=1)
    async with admin_of(sim) as admin:
        await admin.list_topics()
        updates = admin.client.metadata.cache.updates
        with sim.kafka.controls.faults.add(lost):
            (await admin.create_topics(TOPICS)).all()
        await trio.sleep(2)
        assert admin.client.metadata.cache.updates > updates


@simulate(seeds=1)
async def test_broker_that_only_a_lookup_has_named_is_asked(sim):
    responses = []
    async with admin_of(sim) as admin:
        exchange = Exchange(
            node=5,
            address=sim.lives.address,
            request=ApiVersionsRequest("me", "1"),
            answered=lambda response, broker: responses.append((response.error_code, broker)),
            failed=responses.append,
        )
        await admin._carry(exchange, 5.0)

    assert responses == [(0, f"broker 5 ({sim.lives.address})")]


@simulate(seeds=1)
async def test_call_ends_at_its_deadline_and_the_client_goes_on(sim):
    async with admin_of(sim) as admin:
        with sim.kafka.controls.faults.add(FaultRule(api="CreateTopics", hold=True)) as fault:
            start = trio.current_time()
            results = await admin.within(3.0).create_topics(TOPICS)
            elapsed_s = trio.current_time() - start
            fault.release()
        assert "a" in await admin.list_topics()

    assert elapsed_s == pytest.approx(3.0, abs=0.2)
    assert all(isinstance(error, TimedOutError) for error in results.errors.values())
    assert all(error.sent for error in results.errors.values())


@simulate(seeds=1)
async def test_broker_that_cannot_be_reached_is_an_error_at_the_deadline_that_says_why(sim):
    await sim.kafka.stop()
    async with admin_of(sim, default_api_timeout_ms=2000) as admin:
        start = trio.current_time()
        with pytest.raises(TimedOutError, match=r"no broker within .*no listener") as error:
            await admin.list_topics()

    assert trio.current_time() - start == pytest.approx(2.0, abs=0.1)
    assert not error.value.sent


@simulate(seeds=1)
async def test_call_waits_for_a_broker_that_starts_meanwhile(sim):
    await sim.kafka.stop()
    async with admin_of(sim) as admin, trio.open_nursery() as nursery:

        async def start() -> None:
            await trio.sleep(5)
            await sim.kafka.start()

        nursery.start_soon(start)
        assert (await admin.create_topics(TOPICS)).all()


@simulate(seeds=1)
async def test_cancelled_call_leaves_the_client_usable(sim):
    async with admin_of(sim) as admin:
        with (
            sim.kafka.controls.faults.add(FaultRule(api="CreateTopics", hold=True)) as fault,
            trio.move_on_after(1) as scope,
        ):
            try:
                await admin.create_topics(TOPICS)
            finally:
                fault.release()
        assert scope.cancelled_caught
        assert (await admin.describe_cluster()).nodes


@simulate(seeds=1)
async def test_unknown_topic_is_an_error_long_before_the_deadline(sim):
    async with admin_of(sim) as admin:
        with pytest.raises(TopicError, match="missing"):
            (await admin.describe_topics(["missing"])).all()

    assert trio.current_time() < 10


@simulate(seeds=1)
async def test_requests_of_an_admin_client_are_counted(sim):
    async with admin_of(sim) as admin:
        await admin.list_topics()
        metrics = {(name.group, name.name): value for name, value in admin.metrics().items()}

    assert metrics["admin-client-metrics", "request-total"] >= 2
    assert metrics["admin-client-metrics", "connection-creation-total"] >= 1


@simulate(seeds=1)
async def test_client_is_shown_in_the_tree_while_it_is_open(sim):
    root = Node("broker-1", "broker")
    async with admin_of(sim, tree=root, client_id="me") as admin:
        await admin.list_topics()
        assert {"me", "links", "broker 1"} <= {node.name for _, node in root.walk()}
    assert [node.name for _, node in root.walk()] == ["broker-1"]


def test_setting_of_another_client_is_an_error() -> None:
    async def run() -> None:
        async with open_admin({"bootstrap.servers": "a:1", "acks": "all"}):
            pass

    with pytest.raises(ConfigError, match="acks: is a setting of producers"):
        trio.run(run)


async def use_older_release(sim, release):
    """Calls that each release since 2.1 has, with answers of its own versions."""
    await sim.kafka.as_version(release)
    at = TopicPartition("a", 0)
    async with admin_of(sim) as admin:
        created = await admin.create_topics([NewTopic("a", num_partitions=2, replication_factor=1)])
        assert list(created.all()) == ["a"]
        assert set(await admin.list_topics()) == {"a"}
        assert len((await admin.describe_topics(["a"]))["a"].partitions) == 2
        (await admin.create_partitions({"a": NewPartitions(3)})).all()
        assert (await admin.list_offsets({at: LATEST}))[at].offset == 0
        assert (await admin.delete_records({at: HIGH_WATERMARK})).all() == {at: 0}
        assert [node.node_id for node in (await admin.describe_cluster()).nodes] == [1]
        committed = {at: OffsetAndMetadata(7)}
        for group in ("g", "h"):
            (await admin.alter_consumer_group_offsets(group, committed)).all()
        listed = await admin.list_consumer_group_offsets({"g": None, "h": [at]})
        assert [offsets[at].offset for offsets in listed.all().values()] == [7, 7]
        described = await admin.describe_consumer_groups(["g", "h"])
        assert [group.state for group in described.all().values()] == ["Empty", "Empty"]
        assert set((await admin.list_groups()).all()) == {"g", "h"}
        assert set((await admin.delete_groups(["g", "h"])).all()) == {"g", "h"}
        (await admin.delete_topics(["a"])).all()
        return await admin.list_groups(states=["Stable"])


@pytest.mark.slow
@simulate(seeds=1)
async def test_broker_as_kafka_2_1_is_asked_in_its_own_versions(sim):
    listings = await use_older_release(sim, "2.1")

    (error,) = listings.by_broker.errors.values()
    assert isinstance(error, UnsupportedError)


@pytest.mark.slow
@simulate(seeds=1)
async def test_broker_as_kafka_3_3_is_asked_in_its_own_versions(sim):
    assert (await use_older_release(sim, "3.3")).all() == {}
