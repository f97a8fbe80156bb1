"""Permissions that each API needs: operation, type of resource, and the error of a denial.

From the table "Protocol, operation, resource" of Kafka's documentation, corrected where the code of
Apache Kafka 4.4 asks for something else. `test_permissions` holds it against the handlers.

    python -m tests.apis.permissions            write docs/reference/authorization.md
    python -m tests.apis.permissions --check    end with status 1 if the page would change
"""

import sys
from typing import Final, NamedTuple

from tests.project.tree import ROOT
from trio_kafka.errors import ErrorCode
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import ResourceType
from trio_kafka_apis.listed import LISTED

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TOKEN, USER = ResourceType.DELEGATION_TOKEN, ResourceType.USER
TRANSACTION: Final = ResourceType.TRANSACTIONAL_ID
NO_TOPIC: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_GROUP: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_CLUSTER: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
NO_TOKEN: Final = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
NO_TRANSACTION: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Row(NamedTuple):
    """One permission of an API. error: None where a denial is no error by itself."""

    key: int
    operation: Operation
    resource: ResourceType
    error: ErrorCode | None
    note: str = ""


# Keys of APIs that need no permission, and why.
OPEN: Final = {
    17: "It comes before authentication; afterwards it is ILLEGAL_SASL_STATE.",
    18: "It comes before authentication.",
    36: "It comes before authentication; afterwards it is ILLEGAL_SASL_STATE.",
    71: "Each client may ask what to push.",
    72: "Each client may push.",
    39: "The owner of the token, or a renewer.",
    40: "The owner of the token, or a renewer.",
}

_READ, _WRITE, _CREATE, _DELETE = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
)
_ALTER, _DESCRIBE, _ACTION = Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION
_SHOW, _SET = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS

ROWS: Final = (
    Row(0, _WRITE, TOPIC, NO_TOPIC, "For each partition."),
    Row(0, _WRITE, TRANSACTION, NO_TRANSACTION, "For transactional batches: the whole request."),
    Row(1, _READ, TOPIC, NO_TOPIC, "A consumer, for each partition."),
    Row(1, _ACTION, CLUSTER, NO_TOPIC, "A follower, for each partition."),
    Row(2, _DESCRIBE, TOPIC, NO_TOPIC, "For each partition."),
    Row(3, _DESCRIBE, TOPIC, NO_TOPIC, "A list of all topics leaves out those without it."),
    Row(3, _CREATE, CLUSTER, None, "For automatic creation; else see the next row."),
    Row(3, _CREATE, TOPIC, NO_TOPIC, "For automatic creation."),
    Row(8, _READ, GROUP, NO_GROUP, "The whole request."),
    Row(8, _READ, TOPIC, NO_TOPIC, "For each partition."),
    Row(9, _DESCRIBE, GROUP, NO_GROUP, "For each group."),
    Row(9, _DESCRIBE, TOPIC, NO_TOPIC, "A request for all topics leaves out those without it."),
    Row(10, _DESCRIBE, GROUP, NO_GROUP, "Coordinators of groups."),
    Row(10, _DESCRIBE, TRANSACTION, NO_TRANSACTION, "Coordinators of transactions."),
    Row(10, _ACTION, CLUSTER, NO_CLUSTER, "Coordinators of share groups."),
    Row(11, _READ, GROUP, NO_GROUP),
    Row(12, _READ, GROUP, NO_GROUP),
    Row(13, _READ, GROUP, NO_GROUP),
    Row(14, _READ, GROUP, NO_GROUP),
    Row(15, _DESCRIBE, GROUP, NO_GROUP, "For each group."),
    Row(16, _DESCRIBE, CLUSTER, None, "All groups; else see the next row."),
    Row(16, _DESCRIBE, GROUP, None, "Groups without it are left out."),
    Row(19, _CREATE, CLUSTER, None, "Any topic; else see the next row."),
    Row(19, _CREATE, TOPIC, NO_TOPIC, "For each topic."),
    Row(19, _SHOW, TOPIC, None, "Without it the response has no settings of the new topic."),
    Row(20, _DELETE, CLUSTER, None, "Any topic; else see the next rows."),
    Row(20, _DELETE, TOPIC, NO_TOPIC, "For each topic."),
    Row(20, _DESCRIBE, TOPIC, NO_TOPIC, "A topic given by name; the name of one given by id."),
    Row(21, _DELETE, TOPIC, NO_TOPIC, "For each partition."),
    Row(22, _WRITE, TRANSACTION, NO_TRANSACTION, "With a transactional id."),
    Row(22, Operation.TWO_PHASE_COMMIT, TRANSACTION, NO_TRANSACTION, "For a two-phase commit."),
    Row(22, _WRITE, TOPIC, None, "Without a transactional id: on any topic; else see next row."),
    Row(22, Operation.IDEMPOTENT_WRITE, CLUSTER, NO_CLUSTER, "Without a transactional id."),
    Row(23, _ACTION, CLUSTER, None, "All topics; else see the next row."),
    Row(23, _DESCRIBE, TOPIC, NO_TOPIC, "For each partition."),
    Row(24, _WRITE, TRANSACTION, NO_TRANSACTION, "A client: the whole request."),
    Row(24, _WRITE, TOPIC, NO_TOPIC, "A client: for each partition."),
    Row(24, _ACTION, CLUSTER, NO_CLUSTER, "A broker, from version 4 on."),
    Row(25, _WRITE, TRANSACTION, NO_TRANSACTION),
    Row(25, _READ, GROUP, NO_GROUP),
    Row(26, _WRITE, TRANSACTION, NO_TRANSACTION),
    Row(27, _ALTER, CLUSTER, None, "An administrator; else see the next row."),
    Row(27, _ACTION, CLUSTER, NO_CLUSTER, "A transaction coordinator."),
    Row(28, _WRITE, TRANSACTION, NO_TRANSACTION, "The whole request."),
    Row(28, _READ, GROUP, NO_GROUP, "The whole request."),
    Row(28, _READ, TOPIC, NO_TOPIC, "For each partition."),
    Row(29, _DESCRIBE, CLUSTER, NO_CLUSTER),
    Row(30, _ALTER, CLUSTER, NO_CLUSTER, "For each entry."),
    Row(31, _ALTER, CLUSTER, NO_CLUSTER, "For each filter."),
    Row(32, _SHOW, TOPIC, NO_TOPIC, "Settings of topics."),
    Row(32, _SHOW, GROUP, NO_GROUP, "Settings of groups."),
    Row(32, _SHOW, CLUSTER, NO_CLUSTER, "Settings of brokers, log levels, client metrics."),
    Row(33, _SET, TOPIC, NO_TOPIC, "Settings of topics."),
    Row(33, _SET, GROUP, NO_GROUP, "Settings of groups."),
    Row(33, _SET, CLUSTER, NO_CLUSTER, "Settings of brokers, client metrics."),
    Row(34, _ALTER, CLUSTER, NO_CLUSTER, "For each partition."),
    Row(35, _DESCRIBE, CLUSTER, NO_CLUSTER, "Before version 3: no directories, and no error."),
    Row(37, _ALTER, TOPIC, NO_TOPIC, "For each topic."),
    Row(38, Operation.CREATE_TOKENS, USER, NO_TOKEN, "For another owner than the client."),
    Row(41, _DESCRIBE, TOKEN, None, "A token of others; else see the next row."),
    Row(41, Operation.DESCRIBE_TOKENS, USER, None, "The list leaves out tokens without it."),
    Row(42, _DELETE, GROUP, NO_GROUP, "For each group."),
    Row(43, _ALTER, CLUSTER, NO_CLUSTER),
    Row(44, _SET, TOPIC, NO_TOPIC, "Settings of topics."),
    Row(44, _SET, GROUP, NO_GROUP, "Settings of groups."),
    Row(44, _SET, CLUSTER, NO_CLUSTER, "Settings of brokers, log levels, client metrics."),
    Row(45, _ALTER, CLUSTER, NO_CLUSTER, "The whole request."),
    Row(46, _DESCRIBE, CLUSTER, NO_CLUSTER, "The whole request."),
    Row(47, _DELETE, GROUP, NO_GROUP, "The whole request."),
    Row(47, _READ, TOPIC, NO_TOPIC, "For each partition."),
    Row(48, _SHOW, CLUSTER, NO_CLUSTER),
    Row(49, _SET, CLUSTER, NO_CLUSTER),
    Row(50, _DESCRIBE, CLUSTER, NO_CLUSTER),
    Row(51, _ALTER, CLUSTER, NO_CLUSTER, "For each user."),
    Row(55, _DESCRIBE, CLUSTER, NO_CLUSTER),
    Row(57, _ALTER, CLUSTER, NO_CLUSTER),
    Row(60, _DESCRIBE, CLUSTER, None, "Without it the set of authorized operations is empty."),
    Row(61, _READ, TOPIC, NO_TOPIC, "For each partition."),
    Row(64, _ALTER, CLUSTER, NO_CLUSTER),
    Row(65, _DESCRIBE, TRANSACTION, NO_TRANSACTION, "For each transactional id."),
    Row(65, _DESCRIBE, TOPIC, None, "Partitions of other topics are left out."),
    Row(66, _DESCRIBE, TRANSACTION, None, "The list leaves out those without it."),
    Row(68, _READ, GROUP, NO_GROUP),
    Row(68, _DESCRIBE, TOPIC, NO_TOPIC, "On every topic in the subscription: the whole request."),
    Row(69, _DESCRIBE, GROUP, NO_GROUP, "For each group."),
    Row(69, _DESCRIBE, TOPIC, NO_TOPIC, "On every topic that the group reads: for each group."),
    Row(74, _SHOW, CLUSTER, NO_CLUSTER),
    Row(75, _DESCRIBE, TOPIC, NO_TOPIC, "A list of all topics leaves out those without it."),
    Row(10001, _DESCRIBE, CLUSTER, NO_CLUSTER),
    Row(10002, _SHOW, CLUSTER, NO_CLUSTER),
    Row(10003, _ALTER, CLUSTER, NO_CLUSTER, "Without an authorizer: only from this machine."),
    Row(10004, _ALTER, CLUSTER, NO_CLUSTER, "Without an authorizer: only from this machine."),
    Row(10005, _DESCRIBE, CLUSTER, NO_CLUSTER),
    Row(10010, _DESCRIBE, CLUSTER, NO_CLUSTER),
)
PAGE: Final = ROOT / "docs" / "reference" / "authorization.md"
HEAD: Final = """\
# Authorization

Look up which permission each request needs, and which error a client gets without it.

This page is generated: change the table in `tests/apis/permissions.py`, then run
`python -m tests.apis.permissions`. A test compares the table with the handlers.

## How a request is authorized

A handler asks the authorizer of the broker: may this principal, from this address, perform this
operation on this resource? The names are those of Apache Kafka 4.4. `authorizer.class.name` chooses
the authorizer:

- Empty, the default: everything is allowed. The APIs of ACLs answer SECURITY_DISABLED.
- `org.apache.kafka.metadata.authorizer.StandardAuthorizer`: the [ACLs](../how-to/acls.md) in the
  metadata log decide, as in Apache Kafka.
- `plugin.<name>`: the authorizer decides that this plugin adds by `context.add_authorizer`. While
  the plugin does not run, nothing is allowed.
- Any other name: the broker does not start.

The principal is that of the connection, `User:ANONYMOUS` without authentication. A request over
HTTP has the principal of its user, `plugin.http.principal` if it carries the token of the HTTP
plane, and `User:ANONYMOUS` otherwise; see [Permissions over HTTP](http-permissions.md). A request
that a plugin sends for a client has that client's principal.

Requests from within come from the host `in-process`. The broker itself has the principal
`Broker:in-process` there, which may do everything and which no client can have. A plugin's own
requests have it too, unless `plugin.<name>.principal` names another one.

A client learns nothing about a topic or group that it may not describe, not even whether it exists.
Whether a topic id exists is no secret, as in Kafka.

## Permissions by API

Keys from 10000 are APIs of trio-kafka. *no error* means that a denial alone is no error: another
permission suffices, or the response leaves something out.

"""
COLUMNS: Final = ("key", "API", "operation", "resource", "error", "note")


def page() -> str:
    """Return the page as it should be."""
    lines = [" | ".join(COLUMNS), " | ".join(["---"] * len(COLUMNS))]
    for key, name, *_ in LISTED:
        if key in OPEN:
            lines.append(f"{key} | {name} | none |  |  | {OPEN[key]}")
        lines += [
            f"{key} | {name} | {row.operation.name} | {row.resource.name} | "
            f"{'no error' if row.error is None else row.error.name} | {row.note}"
            for row in ROWS
            if row.key == key
        ]
    return HEAD + "\n".join(f"| {line} |" for line in lines) + "\n"


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
