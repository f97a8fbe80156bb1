import attrs
from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka_metrics.cluster import read_cluster

OF = "kafka_controller_kafkacontroller_"


async def test_cluster_metrics_match_the_metadata(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 3)
        image = plugin_harness.parts.metadata.image
        topic = image.topics["t"]
        lost = attrs.evolve(topic.partitions[0], leader=NO_NODE)
        moved = attrs.evolve(topic.partitions[1], replicas=(NodeId(7), NodeId(1)))
        partitions = {**topic.partitions, 0: lost, 1: moved}
        topics = image.topics.updated({"t": attrs.evolve(topic, partitions=partitions)})
        plugin_harness.parts.metadata.image = attrs.evolve(image, topics=topics)

        result = read(read_cluster, plugin_harness.parts)
        plugin_harness.parts.metadata.image = image
        raft = plugin_harness.parts.raft
        end = raft.store.log.end_offset

    assert result["kafka_server_kafkaserver_brokerstate"] == 3
    assert result[f"{OF}activecontrollercount"] == 1
    assert (result[f"{OF}globaltopiccount"], result[f"{OF}globalpartitioncount"]) == (1, 3)
    assert result[f"{OF}offlinepartitionscount"] == 1
    assert result[f"{OF}preferredreplicaimbalancecount"] == 2
    assert (result[f"{OF}activebrokercount"], result[f"{OF}fencedbrokercount"]) == (1, 0)
    assert result[f"{OF}brokerregistrationstate{{broker=1}}"] == 30
    assert result["kafka_server_raftmetrics_current_state{current_state=leader}"] == 1
    assert result["kafka_server_raftmetrics_log_end_offset"] == end
    assert result["kafka_server_raftmetrics_number_of_voters"] == 1
    assert result["kafka_server_brokermetadatametrics_last_applied_record_offset"] == end - 1
    assert result["kafka_server_metadataloader_finalizedlevel{featureName=group.version}"] == 1


async def test_broker_that_is_not_active_controller_exports_no_cluster_totals(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        plugin_harness.parts.controller._writer.resign()

        result = read(read_cluster, plugin_harness.parts)

    assert result[f"{OF}activecontrollercount"] == 0
    assert f"{OF}globaltopiccount" not in result
