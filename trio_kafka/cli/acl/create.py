"""`trio-kafka acl create`: allow or deny operations."""

from argparse import ArgumentParser
from typing import Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.acl.entries import (
    ResourceOptions,
    acl_data,
    check_operations,
    check_principal,
    declare_resources,
    kafka_words,
    parse_operations,
    pattern_of,
    resources_of,
)
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.clients.admin.acls import Acl, PermissionType
from trio_kafka.clients.errors import ClientError
from trio_kafka.security.acls.words import acl_words


class Options(ResourceOptions, ChangeOptions):
    """Options of the command."""

    allow: str | None
    deny: str | None
    principal: str
    host: str


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--allow", metavar="OPERATIONS", help="such as READ, or READ,WRITE; ALL: each"
    )
    parser.add_argument("--deny", metavar="OPERATIONS", help="goes over what is allowed")
    parser.add_argument("--principal", required=True, metavar="TYPE:NAME", help="User:*: all")
    parser.add_argument(
        "--host", default="*", metavar="ADDRESS", help="of the client (default: any)"
    )
    declare_resources(parser)
    declare_change(parser)


def create(**options: Unpack[Options]) -> int:
    """Allow or deny a principal operations on resources. An entry that exists stays as it is."""
    acls = _acls(options)
    errors: dict[Acl, ClientError] = {}
    if not options["dry_run"]:
        with open_cluster(options["bootstrap"], options["timeout"]) as admin:
            errors = dict(admin.create_acls(acls).errors)
    changes = {
        acl: Change(
            verb="create",
            words=acl_words(acl),
            kafka=kafka_words(acl, options["bootstrap"], "--add"),
            data=acl_data(acl),
        )
        for acl in acls
    }
    return report(changes, errors, dry_run=options["dry_run"], json=options["json"])


def _acls(options: Options) -> list[Acl]:
    principal, pattern = check_principal(options["principal"]), pattern_of(options)
    resources = list(resources_of(options))
    allow, deny = options["allow"], options["deny"]
    if allow is None and deny is None:
        raise CommandFailedError("give --allow or --deny")
    if not resources:
        raise CommandFailedError("give --topic, --group, --cluster or another resource")
    acls = []
    for text, permission in ((allow, PermissionType.ALLOW), (deny, PermissionType.DENY)):
        operations = [] if text is None else parse_operations(text)
        for kind in dict.fromkeys(kind for kind, _ in resources):
            check_operations(kind, operations)
        acls += [
            Acl(kind, name, pattern, principal, options["host"], operation, permission)
            for operation in operations
            for kind, name in resources
        ]
    return acls
