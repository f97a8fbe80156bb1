"""StreamsGroupTopologyDescriptionUpdate (key 93): a member of a streams group describes its
topology.
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int8, int16, int32, string, struct_
from trio_kafka.protocol.schema import request, response, struct


@struct
class TopologyDescriptionNode:
    name: str = string()
    node_type: int = int8()
    source_topics: list[str] = array(string)
    sink_topic: str | None = string(nullable="0+", default=None, cached=True)
    stores: list[str] = array(string)
    successors: list[str] = array(string)


@struct
class TopologyDescriptionSubtopology:
    subtopology_id: str = string()
    nodes: list[TopologyDescriptionNode] = array(TopologyDescriptionNode)


@struct
class TopologyDescriptionGlobalStore:
    source: TopologyDescriptionNode = struct_(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = struct_(TopologyDescriptionNode)


@struct
class TopologyDescription:
    subtopologies: list[TopologyDescriptionSubtopology] = array(TopologyDescriptionSubtopology)
    global_stores: list[TopologyDescriptionGlobalStore] = array(TopologyDescriptionGlobalStore)


@request(key=93, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateRequest:
    """The topology's epoch and its nodes."""

    response: ClassVar[type["StreamsGroupTopologyDescriptionUpdateResponse"]]

    group_id: str = string()
    member_id: str = string()
    topology_epoch: int = int32()
    topology_description: TopologyDescription = struct_(TopologyDescription)


@response(StreamsGroupTopologyDescriptionUpdateRequest)
class StreamsGroupTopologyDescriptionUpdateResponse:
    """Result of an update of the topology."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
