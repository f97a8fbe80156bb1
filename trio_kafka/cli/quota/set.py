"""`trio-kafka quota set`: limit clients."""

from argparse import ArgumentParser
from math import isfinite
from typing import Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import parse_pairs
from trio_kafka.cli.quota.entities import QuotaOptions, change_quotas, declare_quotas


def declare(parser: ArgumentParser) -> None:
    declare_quotas(parser, "NAME=VALUE")


def set_quotas(**options: Unpack[QuotaOptions]) -> int:
    """Limit users, client ids or addresses, or all that have no quota of their own."""
    values: dict[str, float | None] = {}
    for name, text in parse_pairs("QUOTA", options["quota"]).items():
        values[name] = _number(name, text)
    return change_quotas(options, values)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number > 0):
        raise CommandFailedError(f"{name}={text}: want a number above 0")
    return number
