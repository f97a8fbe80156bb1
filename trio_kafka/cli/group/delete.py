"""`trio-kafka group delete`: groups with their offsets."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence

from trio_kafka.cli.admin import Change, declare_change, open_cluster, report
from trio_kafka.cli.group.groups import declare_groups, find_groups
from trio_kafka.clients.errors import ClientError


def declare(parser: ArgumentParser) -> None:
    declare_groups(parser)
    declare_change(parser)


def delete(
    *, group: Sequence[str], dry_run: bool, bootstrap: str, timeout: float, json: bool
) -> int:
    """Delete groups without members, with their committed offsets. There is no way back."""
    errors: Mapping[str, ClientError] = {}
    with open_cluster(bootstrap, timeout) as admin:
        names = find_groups(admin, group)
        if not dry_run:
            errors = admin.delete_groups(names).errors
    tool = ["kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--delete"]
    changes = {
        name: Change(
            verb="delete",
            words=f"group {name}",
            kafka=[*tool, "--group", name],
            data={"group": name},
        )
        for name in names
    }
    return report(changes, errors, dry_run=dry_run, json=json)
