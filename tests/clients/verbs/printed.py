"""Facts in what Kafka's command-line tools print."""

import json
import re
from collections.abc import Iterator
from typing import Any

NONE = "-"


def table(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of tables whose columns begin where their heads do.

    A head is a line that begins with GROUP or ID; a table ends with an empty line.
    """
    heads: list[tuple[str, int]] = []
    for line in text.splitlines():
        if line.startswith(("GROUP ", "ID ")):
            heads = [(head[0], head.start()) for head in re.finditer(r"\S+(?: \(ID\))?", line)]
        elif not line:
            heads = []
        elif heads:
            ends = [start for _, start in heads[1:]] + [len(line)]
            yield {
                name: line[start:end].strip()
                for (name, start), end in zip(heads, ends, strict=True)
            }


def tabbed(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table whose cells end with tabs."""
    head, *rows = [[cell.strip() for cell in line.split("\t")] for line in text.splitlines()]
    for row in rows:
        yield {name: cell for name, cell in zip(head, row, strict=True) if name}


def fields(line: str) -> dict[str, str]:
    """Return the fields of a line `Name: value<tab>Name: value`."""
    pairs = (field.partition(":") for field in line.strip().split("\t"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def settings(text: str) -> dict[str, str]:
    """Return names and values of kafka-configs; `null` where a value is hidden."""
    rows = re.findall(r"^  ([\w.$-]+)=(.*) sensitive=", text, re.MULTILINE)
    return dict(rows)


def quotas(text: str) -> dict[str, dict[str, float]]:
    """Return quotas by entity, such as `user=ann client-id=(default)`."""
    result: dict[str, dict[str, float]] = {}
    for entity, values in re.findall(r"^Quota configs for (.*) are (.*)$", text, re.MULTILINE):
        pairs = (pair.split("=") for pair in values.split(", "))
        result[_entity(entity)] = {name: float(value) for name, value in pairs}
    return result


def _entity(text: str) -> str:
    words = []
    for part in text.split(", "):
        kind, _, name = part.removeprefix("the default ").partition(" ")
        kind = "user" if kind == "user-principal" else kind
        words.append(f"{kind}={name.strip(chr(39)) or '(default)'}")
    return " ".join(words)


def acls(text: str) -> set[tuple[str, ...]]:
    """Return type, name, pattern, principal, host, operation and permission of each entry."""
    result: set[tuple[str, ...]] = set()
    pattern: tuple[str, ...] = ()
    for line in text.splitlines():
        values = tuple(re.findall(r"\w+=([^,)]*)", line))
        if line.startswith("Current ACLs"):
            pattern = values
        elif values:
            result.add(pattern + values)
    return result


def directories(text: str) -> dict[tuple[int, str], list[Any]]:
    """Return the replicas of each directory by broker and path, of kafka-log-dirs."""
    (line,) = (line for line in text.splitlines() if line.startswith("{"))
    return {
        (broker["broker"], row["logDir"]): row["partitions"]
        for broker in json.loads(line)["brokers"]
        for row in broker["logDirs"]
    }
