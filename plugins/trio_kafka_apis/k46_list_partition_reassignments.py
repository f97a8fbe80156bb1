"""ListPartitionReassignments (key 46): list reassignments in progress.

Never waits. There is none, as a cluster has one broker. Moves between directories of a broker are
shown by DescribeLogDirs. Source: KIP-455.

Needs DESCRIBE on the cluster.
"""

from trio_kafka.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation


@api(ListPartitionReassignmentsRequest)
def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, context: Context
) -> ListPartitionReassignmentsResponse:
    del request
    context.authorize(Operation.DESCRIBE, cluster=True)
    return ListPartitionReassignmentsResponse(error_message=None)
