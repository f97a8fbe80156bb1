"""`trio-kafka quota unset`: remove limits of clients."""

from argparse import ArgumentParser
from typing import Unpack

from trio_kafka.cli.quota.entities import QuotaOptions, change_quotas, declare_quotas


def declare(parser: ArgumentParser) -> None:
    declare_quotas(parser, "NAME")


def unset_quotas(**options: Unpack[QuotaOptions]) -> int:
    """Remove quotas of users, client ids or addresses, or of the defaults."""
    return change_quotas(options, dict.fromkeys(options["quota"]))
