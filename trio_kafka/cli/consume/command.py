"""`trio-kafka consume`: print records of topics."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.client_settings import client_errors, settings_for
from trio_kafka.cli.consume.filters import record_filter
from trio_kafka.cli.consume.places import Start, parse_offset
from trio_kafka.cli.records.encodings import ENCODINGS, TEXT
from trio_kafka.cli.records.formats import record_format
from trio_kafka.cli.records.record_json import RecordBytes, record_writer
from trio_kafka.cli.records.times import TIME_FORMS, time_option
from trio_kafka.cli.topics import UNKNOWN, check_leaders, find_topics, partition_numbers

if TYPE_CHECKING:
    from trio_kafka.cli.consume.run import ReadPlan

VALUES: Final = r"%s\n"
_TIMEOUT_S: Final = 30.0
_FETCH_BYTES: Final = 4 << 20


class Options(TypedDict):
    """Options of the command."""

    topic: Sequence[str]
    partition: Sequence[int]
    offset: str | None
    since: str | None
    until: str | None
    follow: bool
    count: int | None
    group: str | None
    group_protocol: str
    committed: bool
    format: str
    json: bool
    key_encoding: str
    value_encoding: str
    header_encoding: str
    key: str | None
    value: str | None
    header: Sequence[str]
    bootstrap: str
    timeout: float


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", metavar="TOPIC", help="a name, or a glob: 'orders-*'")
    where = parser.add_argument_group("which records")
    where.add_argument(
        "-p",
        "--partition",
        action="append",
        type=int,
        default=[],
        metavar="NUMBER",
        help="only this partition; may be repeated",
    )
    where.add_argument(
        "-o",
        "--offset",
        metavar="WHERE",
        help="begin at earliest (the default), latest, an offset, or -N: the last N records",
    )
    where.add_argument("--since", metavar="TIME", help=f"begin at a time: {TIME_FORMS}")
    where.add_argument("--until", metavar="TIME", help="end before a time, as --since")
    where.add_argument(
        "--follow", action="store_true", help="wait for new records, until Ctrl-C; not to the end"
    )
    where.add_argument("-n", "--count", type=int, metavar="NUMBER", help="print at most so many")
    where.add_argument(
        "--committed",
        action="store_true",
        help="no records of open and aborted transactions (read_committed)",
    )
    where.add_argument("--key", metavar="REGEX", help="only keys that match (RE2, anywhere)")
    where.add_argument("--value", metavar="REGEX", help="only values that match")
    where.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME[=REGEX]",
        help="only records with this header; may be repeated",
    )
    group = parser.add_argument_group("groups")
    group.add_argument(
        "--group", metavar="NAME", help="read as a member, from and with committed offsets"
    )
    group.add_argument(
        "--group-protocol",
        choices=("consumer", "classic"),
        default="consumer",
        help="protocol of the group (default: consumer, KIP-848)",
    )
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "-f",
        "--format",
        default=VALUES,
        metavar="FORMAT",
        help=r"as kcat's: %%s value, %%k key, %%h headers, %%t topic, %%p partition, %%o offset,"
        r" %%T time, %%S and %%K lengths, \n, \t, \xNN (default: %%s\n)",
    )
    shown.add_argument(
        "--json", action="store_true", help="a JSON object a line, which `produce --json` reads"
    )
    for part in ("key", "value", "header"):
        shown.add_argument(
            f"--{part}-encoding",
            choices=ENCODINGS,
            default=TEXT,
            help=f"form of a {part} in JSON (default: text; base64 where it is none)",
        )
    declare_broker(parser, _TIMEOUT_S)


def consume(**options: Unpack[Options]) -> int:
    """Print records of topics, from the first to the last that is there now.

    With --follow, new records too. A pipe into `trio-kafka produce --json` copies a topic.
    """
    plan = plan_read(options)
    import trio  # noqa: PLC0415 - the clients take as long to import as the rest

    from trio_kafka.cli.consume.run import read_records  # noqa: PLC0415 - as above

    with client_errors(options["bootstrap"]):
        trio.run(read_records, plan)
    return 0


def plan_read(options: Options) -> "ReadPlan":
    """Check options, and ask the broker for the topics. Raises CommandFailedError."""
    _check(options)
    start = Start() if options["offset"] is None else parse_offset(options["offset"])
    if options["since"] is not None:
        start = Start(time_ms=time_option("--since", options["since"]))
    until = options["until"]
    until_ms = None if until is None else time_option("--until", until)
    render = _render(options)
    passes = record_filter(options["key"], options["value"], options["header"])
    settings = _settings(options)
    partitions = _partitions(options)
    from trio_kafka.cli.consume.run import ReadPlan  # noqa: PLC0415 - imports the clients

    return ReadPlan(
        settings=settings,
        partitions=partitions,
        start=start,
        until_ms=until_ms,
        follows=options["follow"],
        most=options["count"],
        has_group=options["group"] is not None,
        render=render,
        is_values=not options["json"] and options["format"] == VALUES,
        passes=passes,
        timeout_s=options["timeout"],
    )


def _check(options: Options) -> None:
    """Raise CommandFailedError for options that exclude one another."""
    rules: Sequence[tuple[bool, str]] = (
        (
            options["offset"] is not None and options["since"] is not None,
            "--offset and --since both say where to begin: leave one out",
        ),
        (
            options["follow"] and options["until"] is not None,
            "--follow has no end, and --until is one: leave one out",
        ),
        (
            options["group"] is not None
            and bool(options["partition"] or options["offset"] or options["since"]),
            "a group chooses partitions and offsets: leave --partition, --offset and --since out",
        ),
        (options["json"] and options["format"] != VALUES, "--json is a format: leave -f out"),
        (
            options["count"] is not None and options["count"] < 1,
            f"--count {options['count']}: want at least 1",
        ),
    )
    for is_broken, reason in rules:
        if is_broken:
            raise CommandFailedError(reason)


def _render(options: Options) -> RecordBytes:
    if options["json"]:
        return record_writer(
            options["key_encoding"], options["value_encoding"], options["header_encoding"]
        )
    try:
        return record_format(options["format"])
    except ValueError as error:
        raise CommandFailedError(f"--format: {error}") from error


def _partitions(options: Options) -> Mapping[str, Sequence[int]]:
    """Return the partitions of each topic. Raises CommandFailedError."""
    address = parse_addresses(options["bootstrap"])
    with open_client(address, options["timeout"], unknown=UNKNOWN) as send:
        topics = find_topics(send, options["topic"])
    partitions = {}
    for topic in topics:
        numbers = sorted(set(options["partition"])) or partition_numbers(topic)
        check_leaders(topic, numbers)
        partitions[topic.name or ""] = numbers
    return partitions


def _settings(options: Options) -> dict[str, object]:
    settings: dict[str, object] = {
        "client.id": "trio-kafka",
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
        "max.partition.fetch.bytes": _FETCH_BYTES,
        "default.api.timeout.ms": int(options["timeout"] * 1000),
    }
    chosen: dict[str, object] = {}
    if options["group"] is not None:
        chosen |= {"group.id": options["group"], "group.protocol": options["group_protocol"]}
    if options["committed"]:
        chosen["isolation.level"] = "read_committed"
    from trio_kafka.clients.settings.consumer import ConsumerSettings  # noqa: PLC0415 - as above

    return settings | settings_for(ConsumerSettings, options["bootstrap"], chosen)
