"""`trio-kafka fault add`: add a rule given as FIELD=VALUE words, or the rules of a file."""

import tomllib
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from trio_kafka.strict_json import parse_json
from trio_kafka_builtin.fault_commands.client import ControlError, ask, declare_address, show

# Fields with texts, even if a value looks like a number. All others are read as JSON.
TEXTS: Final = frozenset(
    {
        "name",
        "client_id",
        "principal",
        "listener",
        "topic",
        "group",
        "transactional_id",
        "disconnect",
        "corrupt",
        "seed",
    }
)


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "fields",
        nargs="*",
        metavar="FIELD=VALUE",
        help="a field of the rule, such as api=Produce, topic=o-*, error=NOT_LEADER_OR_FOLLOWER,"
        " delay_s=[1,2]; FIELD alone is FIELD=true",
    )
    parser.add_argument(
        "--file", metavar="FILE", help="a file of rules, TOML or JSON, in the place of the fields"
    )
    declare_address(parser)


def add(*, fields: Sequence[str], file: str | None, at: str | None, json: bool) -> int:
    """Add a rule by its fields, or the rules of a file, all or none of them.

    docs/how-to/faults.md lists the fields. The rule is shown with its name.
    """
    if bool(fields) == bool(file):
        raise ControlError("give FIELD=VALUE words or --file, one of them")
    body = {"rules": rules_in(file)} if file else table_of(fields)
    answer = ask(at, "POST", body=body)
    show(answer["rules"] if file else [answer], as_json=json)
    return 0


def table_of(words: Sequence[str]) -> dict[str, object]:
    """Return the table of FIELD=VALUE words. Raises ControlError for a field given twice."""
    table: dict[str, object] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name in table:
            raise ControlError(f"{name} is given twice")
        table[name] = _value_of(name, text) if equals else True
    return table


def rules_in(file: str) -> list[object]:
    """Return the tables in a file: `[[rules]]` in TOML, `{"rules": [...]}` in JSON.

    Raises ControlError.
    """
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        content = tomllib.loads(text) if file.endswith(".toml") else parse_json(text)
    except (OSError, ValueError) as error:
        raise ControlError(f"{file}: {error}") from error
    if not isinstance(content, dict) or set(content) != {"rules"}:
        raise ControlError(f"{file}: want a list `rules` and nothing else")
    rules: list[object] = content["rules"]
    return rules


def _value_of(name: str, text: str) -> object:
    if name in TEXTS:
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
