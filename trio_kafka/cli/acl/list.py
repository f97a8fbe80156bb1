"""`trio-kafka acl list`: entries of access control lists."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final, Unpack

from trio_kafka.cli.acl.entries import (
    FilterOptions,
    acl_data,
    declare_filter,
    filters_of,
)
from trio_kafka.cli.admin import TIMEOUT_S, open_cluster
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, columns, declare_json, print_answer
from trio_kafka.clients.admin.acls import Acl, Operation, PermissionType
from trio_kafka.security.acls.words import resource_words

_HEAD: Final = ("resource", "principal", "host", "permission", "operation")


class Options(FilterOptions):
    """Options of the command."""

    bootstrap: str
    timeout: float
    json: bool


def declare(parser: ArgumentParser) -> None:
    declare_filter(parser)
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `acls`")


def list_acls(**options: Unpack[Options]) -> int:
    """Show who may do what: all entries, or those of resources, of a principal, of an operation."""
    filters = filters_of(options)
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        acls = {acl for acl_filter in filters for acl in admin.describe_acls(acl_filter)}
    return print_answer(sorted(acls), as_data, as_text, json=options["json"])


def as_data(acls: Sequence[Acl]) -> dict[str, object]:
    """Return the entries for JSON."""
    return {"acls": [acl_data(acl) for acl in acls]}


def as_text(acls: Sequence[Acl]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [
            resource_words(acl),
            acl.principal,
            acl.host,
            PermissionType(acl.permission).name.lower(),
            Operation(acl.operation).name,
        ]
        for acl in acls
    ]
    yield from columns(_HEAD, rows, [LEFT] * len(_HEAD))
