"""`trio-kafka acl delete`: entries that pass a filter."""

from argparse import ArgumentParser
from typing import Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.acl.entries import (
    FilterOptions,
    acl_data,
    declare_filter,
    filters_of,
    kafka_words,
)
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.clients.admin.acls import Acl, AclFilter
from trio_kafka.clients.errors import ClientError
from trio_kafka.security.acls.words import acl_words


class Options(FilterOptions, ChangeOptions):
    """Options of the command."""

    all: bool


def declare(parser: ArgumentParser) -> None:
    declare_filter(parser)
    parser.add_argument("--all", action="store_true", help="needed to delete without a filter")
    declare_change(parser)


def delete(**options: Unpack[Options]) -> int:
    """Delete entries: those of resources, of a principal, of an operation. See --dry-run first."""
    filters = filters_of(options)
    if filters == [AclFilter()] and not (options["all"] or options["dry_run"]):
        raise CommandFailedError("without a filter every entry goes: give --all")
    errors: dict[Acl, ClientError] = {}
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        if options["dry_run"]:
            acls = {acl for acl_filter in filters for acl in admin.describe_acls(acl_filter)}
        else:
            acls = set()
            for deleted in admin.delete_acls(filters).all().values():
                acls |= {*deleted.values_by_item, *deleted.errors}
                errors |= deleted.errors
    changes = {
        acl: Change(
            verb="delete",
            words=acl_words(acl),
            kafka=kafka_words(acl, options["bootstrap"], "--remove"),
            data=acl_data(acl),
        )
        for acl in sorted(acls)
    }
    return report(changes, errors, dry_run=options["dry_run"], json=options["json"])
