"""Calls that list and describe topics."""

from collections.abc import Iterable, Iterator, Sequence

from trio_kafka.clients.admin.authorized import operations_of
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    as_older,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY
from trio_kafka.clients.admin.topic_pages import TopicPages
from trio_kafka.clients.admin.topic_values import (
    TopicDescription,
    TopicKey,
    TopicListing,
    TopicPartitionInfo,
)
from trio_kafka.clients.admin.topics import place_of
from trio_kafka.clients.errors import ClientError
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)


def list_topics(*, include_internal: bool = False) -> Plan[dict[str, TopicListing]]:
    """List the topics of the cluster that the client may see, by name, sorted."""
    call: Call[None, MetadataResponse, dict[str, TopicListing]] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: MetadataRequest(
            topics=None, allow_auto_topic_creation=False
        ),
        read=lambda response, _items: [(None, _listings(response, include_internal))],
    )
    return perform_single(call)


def describe_topics(
    topics: Iterable[TopicKey],
    *,
    include_authorized_operations: bool = False,
    partition_size_limit_per_response: int = 2000,
) -> Plan[Results[TopicKey, TopicDescription]]:
    """Describe topics by name, or by id (bytes), with partitions and replicas.

    Topics by name are asked for page by page, with eligible leader replicas (KIP-966); at once, and
    without those, by id and from a broker that is too old.
    partition_size_limit_per_response: of a page; the broker may have a lower limit.
    """
    keys = list(topics)
    names = [key for key in keys if isinstance(key, str)]
    ids = [key for key in keys if not isinstance(key, str)]
    values: dict[TopicKey, TopicDescription] = {}
    errors: dict[TopicKey, ClientError] = {}
    if names:
        pages = TopicPages(partition_size_limit_per_response, include_authorized_operations)
        by_metadata = _metadata_call(names, include_authorized_operations)
        by_name = yield from perform(pages.call(names, older=as_older(by_metadata)))
        values.update(by_name.values_by_item.items())
        errors.update(by_name.errors.items())
    if ids:
        by_id = yield from perform(_metadata_call(ids, include_authorized_operations))
        values.update(by_id.values_by_item)
        errors.update(by_id.errors)
    return Results(
        {key: values[key] for key in keys if key in values},
        {key: errors[key] for key in keys if key in errors},
    )


def _metadata_call(
    keys: Sequence[TopicKey], include_authorized_operations: bool
) -> Call[TopicKey, MetadataResponse, TopicDescription]:
    def request(items: Sequence[TopicKey], _timeout_ms: int) -> MetadataRequest:
        rows = [
            MetadataRequestTopic(name=item)
            if isinstance(item, str)
            else MetadataRequestTopic(item, None)
            for item in items
        ]
        return MetadataRequest(
            topics=rows,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=include_authorized_operations,
        )

    return Call(
        targets=dict.fromkeys(keys, ANY),
        request=request,
        read=_read_descriptions,
        place=place_of,
    )


def _listings(response: MetadataResponse, include_internal: bool) -> dict[str, TopicListing]:
    rows = sorted(response.topics, key=lambda row: row.name or "")
    return {
        row.name: TopicListing(name=row.name, topic_id=row.topic_id, is_internal=row.is_internal)
        for row in rows
        if row.name is not None and (include_internal or not row.is_internal)
    }


def _read_descriptions(
    response: MetadataResponse, items: Sequence[TopicKey]
) -> Iterator[tuple[TopicKey, TopicDescription | Rejection]]:
    for row in response.topics:
        key: TopicKey = row.topic_id if row.topic_id in items else row.name or ""
        yield key, result_of(row.error_code, None, _description(row))


def _description(row: MetadataResponseTopic) -> TopicDescription:
    partitions = (
        TopicPartitionInfo(
            partition=partition.partition_index,
            leader=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            isr=tuple(partition.isr_nodes),
            offline_replicas=tuple(partition.offline_replicas),
        )
        for partition in row.partitions
    )
    return TopicDescription(
        name=row.name or "",
        topic_id=row.topic_id,
        is_internal=row.is_internal,
        partitions=tuple(sorted(partitions, key=lambda info: info.partition)),
        authorized_operations=operations_of(row.topic_authorized_operations),
    )
