"""docs/reference/apis.md: Kafka's APIs and their versions, beside what is served here.

python -m tests.apis.page            write it
python -m tests.apis.page --check    end with status 1 if it is not as it would be written
"""

import sys
from collections.abc import Iterator
from typing import Any, Final

from tests.project.tree import ROOT
from tests.protocol.declared import classes, recorded
from trio_kafka.protocol.schema import Message, message_of
from trio_kafka.protocol.versions import Range
from trio_kafka.requests.api import Api, Listing
from trio_kafka.requests.registry import installed_apis

PAGE: Final = ROOT / "docs" / "reference" / "apis.md"
HEAD: Final = """\
# APIs

Look up which APIs of Kafka are served, and in which versions.

Versions are the stable ones. Unstable versions are named, and are served with
`unstable.api.versions.enable=true`. An API that is *not served* is missing in the answer to
ApiVersions, and a request for it closes the connection. So does a request in a version that is not
served, except for ApiVersions itself. Produce is listed from version 0, as Kafka does for
librdkafka. [Authorization](authorization.md) lists the permissions that each API needs.

This page is generated from the declared messages and the installed handlers: run
`python -m tests.apis.page`.

"""
COLUMNS: Final = ("key", "API", "Kafka 4.4", "here", "missing")
# What an API that is served lacks, beside versions.
LACKS: Final = {
    10: "transactions, share groups",
    22: "transactions",
    45: "other brokers",
    46: "other brokers",
}
DEFINITIONS: Final = {
    line["apiKey"]: line
    for line in recorded("definitions.jsonl.gz")
    if line["type"] == "request" and line["validVersions"] != "none"
}
Row = tuple[str, ...]


def requests() -> list[Message]:
    """Kafka's requests, by their keys."""
    result = (message_of(cls) for cls in classes())
    return sorted((message for message in result if message.kind == "request"), key=key_of)


def key_of(message: Message) -> int:
    assert message.key is not None
    return message.key


def name_of(message: Message) -> str:
    return message.name.removesuffix("Request")


def of_brokers(message: Message) -> bool:
    definition: dict[str, Any] = DEFINITIONS[key_of(message)]
    return "broker" in definition["listeners"]


def stable(message: Message) -> Range:
    first, last = message.versions
    return first, min(last, message.unstable[0] - 1) if has_unstable(message) else last


def has_unstable(message: Message) -> bool:
    return message.unstable[0] <= message.unstable[1]


def said(versions: Range) -> str:
    first, last = versions
    return str(first) if first == last else f"{first} to {last}"


def of_kafka(message: Message) -> str:
    first, last = stable(message)
    return with_unstable(first, last, message.versions[1])


def here(served: Api | Listing | None) -> str:
    return "" if served is None else with_unstable(served.first, served.last, served.newest)


def with_unstable(first: int, last: int, newest: int) -> str:
    more = f", unstable {said((last + 1, newest))}" if last < newest else ""
    return said((first, last)) + more


def missing(message: Message, served: Api | Listing | None) -> str:
    """Versions that Kafka has and this broker has not; empty for none."""
    if served is None:
        return "not served"
    first, last = stable(message)
    assert first <= served.first <= served.last, f"{served}, Kafka has {(first, last)}"
    versions = [
        said(part)
        for part in ((first, served.first - 1), (served.newest + 1, message.versions[1]))
        if part[0] <= part[1]
    ]
    lacks = [LACKS[served.key]] if served.key in LACKS else []
    return ", ".join([*(f"versions {version}" for version in versions), *lacks])


def rows() -> Iterator[Row]:
    served = {api.key: api for api in installed_apis()}
    for message in filter(of_brokers, requests()):
        served_api = served.get(key_of(message))
        kafkas, lacks = of_kafka(message), missing(message, served_api)
        yield str(message.key), name_of(message), kafkas, here(served_api), lacks


def page() -> str:
    """The page as it should be."""
    table = list(rows())
    keys_of_kafka = {key_of(message) for message in requests()}
    of_controllers = [request for request in requests() if not of_brokers(request)]
    own = [api for api in installed_apis() if api.key not in keys_of_kafka]
    served = sum(1 for row in table if row[3])
    lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, ["---"] * len(COLUMNS), *table)]
    return (
        f"{HEAD}{served} of the {len(table)} APIs of Kafka's brokers are served.\n\n"
        + "\n".join(lines)
        + "\n\nBetween controllers and brokers only, and on no listener of a broker: "
        + ", ".join(f"{name_of(controller)} ({controller.key})" for controller in of_controllers)
        + ".\n\nAPIs of trio-kafka itself: "
        + ", ".join(f"{api.name} ({api.key})" for api in own)
        + ".\n"
    )


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
