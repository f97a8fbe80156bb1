"""Outcomes of a start on a damaged file, for docs/reference/data-directory.md and for tests.

`python -m tests.broker.damage_table > docs/reference/data-directory.md` writes the page.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from trio_kafka.records.header import iterate_headers

META: Final = "__cluster_metadata-0"
_BASE: Final = f"{0:020}"
ALL_OF_T: Final = tuple(range(12))


@frozen(kw_only=True)
class Outcome:
    """Expected outcome of a damage. words: for the page. refused: in the reason for not starting.

    logged: events of log lines, each of which appears; no others may appear. lost: offsets of topic
    "t" that no consumer reads. error: of its partition. aborted: transactions of "txn" that readers
    learn of.
    """

    words: str
    refused: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()
    lost: tuple[int, ...] = ()
    error: int = 0
    aborted: int = 2


@frozen(kw_only=True)
class Row:
    """One file, after a stop in order or a kill. outcomes: by the names in DAMAGES."""

    file: str
    path: str
    clean: bool = True
    outcomes: Mapping[str, Outcome] = field()


def _flipped(content: bytes) -> bytes:
    at = len(content) * 5 // 8
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


def _newer(content: bytes) -> bytes:
    """The same in a version that does not exist yet."""
    for old, new in (
        (b"version=1", b"version=2"),
        (b"version: 0", b"version: 1"),
        (b'version":', b'version":9'),
    ):
        if old in content:
            return content.replace(old, new)
    if content.startswith(b"0\n"):
        return b"1" + content[1:]
    if content[:1] == b"\0" and content[16:17] != b"\x02":
        return content[:1] + bytes([content[1] + 1]) + content[2:]
    starts = [at for at, _ in iterate_headers(content)]
    magic = starts[len(starts) // 2] + 16
    return content[:magic] + b"\x03" + content[magic + 1 :]


# From what a broker wrote to what is there; None: nothing.
DAMAGES: Final[Mapping[str, Callable[[bytes], bytes | None]]] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) * 2 // 3],
    "one byte flipped": _flipped,
    "zeroed": lambda content: bytes(len(content)),
    "a newer version's": _newer,
}
_DAMAGED: Final = tuple(DAMAGES)[1:]


def _all(outcome: Outcome, **others: Outcome) -> dict[str, Outcome]:
    """One outcome of each damage, but for some. Keywords: the first words of the damages' names."""
    return {name: others.get(name.split()[0], outcome) for name in DAMAGES}


def _without(outcomes: Mapping[str, Outcome], *names: str) -> dict[str, Outcome]:
    return {name: outcome for name, outcome in outcomes.items() if name.split()[0] not in names}


_NOTHING: Final = Outcome(words="no effect")
_UNNOTICED: Final = Outcome(words="not detected: the wrong value is used")


def _refused(words: str, *reasons: str) -> Outcome:
    return Outcome(words=f"no start: {words}", refused=reasons)


def _checkpoint(words: str) -> dict[str, Outcome]:
    """Of a checkpoint that counts as missing where it is malformed."""
    outcome = Outcome(words=f"warning; {words}", logged=("malformed checkpoint ignored",))
    flipped = Outcome(words=f"as truncated if a line is malformed, otherwise {_UNNOTICED.words}")
    return _all(outcome, missing=Outcome(words=words), one=flipped)


_LOG_GONE: Final = ("records missing in a segment file",)
_LOG_DAMAGED: Final = ("damaged batch in a segment file",)
_BELOW: Final = ("log ends below its recovery point: records are missing",)
_CLOSED: Final = _all(
    Outcome(words=""),
    missing=Outcome(
        words="error at the first fetch; fetches continue with the next segment",
        logged=_LOG_GONE,
        lost=(4, 5, 6, 7),
    ),
    empty=Outcome(
        words="error at the first fetch; fetches continue with the next segment",
        logged=_LOG_GONE,
        lost=(4, 5, 6, 7),
    ),
    truncated=Outcome(
        words="error at the first fetch; whole batches are served, then the next segment",
        logged=("segment file ends within a batch",),
        lost=(6, 7),
    ),
    one=Outcome(
        words="the client finds a CRC mismatch and must seek past the batch",
        lost=(6, 7, 8, 9, 10, 11),
        error=-2,
    ),
    zeroed=Outcome(
        words="error; fetches in this segment get CORRUPT_MESSAGE, others work",
        logged=_LOG_DAMAGED,
        lost=(4, 5, 6, 7, 8, 9, 10, 11),
        error=2,
    ),
    a=Outcome(
        words="the client finds an unknown magic and must seek past the batch",
        lost=(6, 7, 8, 9, 10, 11),
        error=-2,
    ),
)
_TAIL_CUT: Final = Outcome(
    words="error; the log is cut after its last whole batch",
    logged=("torn tail cut", *_BELOW),
    lost=(10, 11),
)
_ACTIVE_GONE: Final = Outcome(
    words="error; the log ends with the previous segment", logged=_BELOW, lost=(8, 9, 10, 11)
)
_REBUILT: Final = Outcome(words="rebuilt from the log when it is read")
_METADATA_ENDS: Final = _refused(
    "durable records are missing",
    META,
    "ends at offset 32, want 33",
    "Restore",
    "remove /data/recovery-point",
)
_METADATA_DAMAGED: Final = _refused(
    "the log names file, position and remedy",
    f"/data/{META}/{_BASE}.log is damaged",
    "at position",
    "Restore",
    "truncate -s",
)
_IDENTITY: Final = _refused(
    "the log names what was found and the remedy", "/data: meta.properties: ", "Restore the file"
)
_QUORUM: Final = _refused(
    "the node could vote twice in one epoch", f"/data/{META}", "quorum-state", "Restore"
)
_SNAPSHOT: Final = Outcome(
    words="warning; an older snapshot and the log after it are read",
    logged=("skipped a damaged metadata snapshot",),
)
_EPOCHS: Final = Outcome(
    words="warning; rebuilt from the log", logged=("malformed checkpoint rebuilt from the log",)
)
_PRODUCERS: Final = Outcome(
    words="warning; an older snapshot and the log after it are read", logged=("snapshot removed",)
)
_NO_ID: Final = Outcome(
    words="warning; the partition keeps its records", logged=("partition.metadata not read",)
)
_TRANSACTIONS: Final = Outcome(
    words="warning; rebuilt from the log", logged=("transaction index rebuilt",)
)

ROWS: Final = (
    Row(
        file="meta.properties",
        path="meta.properties",
        outcomes=_all(
            _IDENTITY,
            missing=_refused(
                "a directory that is not empty is never formatted",
                "/data has no meta.properties",
                "Restore",
            ),
            one=_refused(
                "another identity does not match the metadata log, or the line is malformed",
                "/data",
                "directory",
            ),
        ),
    ),
    Row(file=".lock", path=".lock", clean=False, outcomes={"missing": _NOTHING, "empty": _NOTHING}),
    Row(
        file=".kafka_cleanshutdown",
        path=".kafka_cleanshutdown",
        outcomes=_all(
            Outcome(words="no effect: only its presence counts"),
            missing=Outcome(words="recovery reads each log from its recovery point"),
        ),
    ),
    *(
        Row(
            file="recovery-point-offset-checkpoint" + ("" if clean else ", after a kill"),
            path="recovery-point-offset-checkpoint",
            clean=clean,
            outcomes=_checkpoint(
                "no effect" if clean else "recovery reads all logs from their first segment"
            ),
        )
        for clean in (True, False)
    ),
    Row(
        file="log-start-offset-checkpoint",
        path="log-start-offset-checkpoint",
        outcomes=_checkpoint("logs begin with their first segment"),
    ),
    Row(
        file="replication-offset-checkpoint",
        path="replication-offset-checkpoint",
        outcomes=_checkpoint("high watermarks advance again from the start of the logs")
        | {"one byte flipped": _UNNOTICED},
    ),
    Row(
        file="cleaner-offset-checkpoint (Apache Kafka's)",
        path="cleaner-offset-checkpoint",
        outcomes=_checkpoint("gaps between segments count as compacted")
        | dict.fromkeys(
            ("missing", "empty"), Outcome(words="no gap between segments counts as compacted")
        ),
    ),
    Row(file="PARTITION/*.log, closed", path=f"t-0/{4:020}.log", outcomes=_CLOSED),
    Row(
        file="PARTITION/*.log, closed, after a kill",
        path=f"t-0/{4:020}.log",
        clean=False,
        outcomes=_CLOSED,
    ),
    *(
        Row(
            file="PARTITION/*.log, active" + ("" if clean else ", after a kill"),
            path=f"t-0/{8:020}.log",
            clean=clean,
            outcomes=_all(
                _TAIL_CUT,
                missing=_ACTIVE_GONE,
                empty=_ACTIVE_GONE,
                zeroed=evolve(_ACTIVE_GONE, logged=("torn tail cut", *_BELOW)),
                one=Outcome(
                    words="the client finds a CRC mismatch and must seek past the batch",
                    lost=(10, 11),
                    error=-2,
                )
                if clean
                else _TAIL_CUT,
            ),
        )
        for clean in (True, False)
    ),
    Row(
        file="PARTITION/*.index",
        path=f"t-0/{4:020}.index",
        outcomes=_without(
            _all(
                _REBUILT,
                missing=Outcome(
                    words="warning; rebuilt from the log", logged=("missing index rebuilt",)
                ),
                truncated=Outcome(
                    words="rebuilt in memory when it is read, and logged",
                    logged=("offset index rebuilt in memory",),
                ),
            ),
            "a",
        ),
    ),
    Row(
        file="PARTITION/*.timeindex",
        path=f"t-0/{4:020}.timeindex",
        outcomes=_without(
            _all(
                _REBUILT,
                missing=Outcome(
                    words="warning; rebuilt from the log", logged=("missing index rebuilt",)
                ),
            ),
            "a",
        ),
    ),
    Row(
        file="PARTITION/*.txnindex",
        path=f"txn-0/{5:020}.txnindex",
        outcomes=_all(
            _TRANSACTIONS,
            one=Outcome(words="as truncated if offsets do not ascend, otherwise not detected"),
            missing=Outcome(
                words="not detected, as most segments have none: `read_committed` shows aborted"
                " records; remove the .index of the segment, and the next start rebuilds both",
                aborted=0,
            ),
        ),
    ),
    Row(
        file="PARTITION/*.snapshot",
        path=f"txn-0/{34:020}.snapshot",
        outcomes=_all(
            _PRODUCERS, missing=Outcome(words="an older snapshot and the log after it are read")
        ),
    ),
    *(
        Row(
            file="PARTITION/leader-epoch-checkpoint" + ("" if clean else ", after a kill"),
            path="t-0/leader-epoch-checkpoint",
            clean=clean,
            outcomes=_all(_EPOCHS, missing=Outcome(words="rebuilt from the log")),
        )
        for clean in (True, False)
    ),
    Row(
        file="PARTITION/partition.metadata",
        path="t-0/partition.metadata",
        outcomes=_all(
            _NO_ID,
            missing=Outcome(words="the partition keeps its records"),
            one=Outcome(
                words="warning; another topic id: the directory is set aside with the ending"
                " `-stray`, the partition starts empty; stop, rename it back and remove"
                " partition.metadata",
                logged=("stray partition",),
                lost=ALL_OF_T,
            ),
        ),
    ),
    Row(
        file=f"{META}/*.log",
        path=f"{META}/{_BASE}.log",
        outcomes=_all(_METADATA_DAMAGED, missing=_METADATA_ENDS, empty=_METADATA_ENDS),
    ),
    Row(
        file=f"{META}/*.log, after a kill",
        path=f"{META}/{_BASE}.log",
        clean=False,
        outcomes=_all(
            _METADATA_DAMAGED,
            **dict.fromkeys(
                ("missing", "empty"),
                Outcome(
                    words="no effect if a snapshot has all durable records, otherwise no start",
                    refused=("ends at offset", "records that were durable are missing"),
                ),
            ),
        ),
    ),
    Row(
        file=f"{META}/*.checkpoint, the newest",
        path=f"{META}/{32:020}-{1:010}.checkpoint",
        outcomes=_all(
            _SNAPSHOT, missing=Outcome(words="an older snapshot and the log after it are read")
        ),
    ),
    Row(
        file=f"{META}/{_BASE}-{0:010}.checkpoint",
        path=f"{META}/{_BASE}-{0:010}.checkpoint",
        clean=False,
        outcomes=_all(Outcome(words="no effect if a newer snapshot is intact, otherwise no start")),
    ),
    Row(
        file=f"{META}/quorum-state",
        path=f"{META}/quorum-state",
        outcomes=_all(
            _QUORUM,
            one=Outcome(words="no start if it is malformed, otherwise not detected"),
            missing=Outcome(
                words="warning; the log's last epoch is used",
                logged=("raised the epoch of quorum-state to that of the log",),
            ),
        ),
    ),
    Row(
        file=f"{META}/*.index, *.timeindex, *.snapshot",
        path=f"{META}/{_BASE}.timeindex",
        outcomes=_without(_all(Outcome(words="no effect: rebuilt at each start")), "a"),
    ),
    Row(
        file=f"{META}/leader-epoch-checkpoint",
        path=f"{META}/leader-epoch-checkpoint",
        outcomes=_all(_EPOCHS, missing=Outcome(words="rebuilt from the log")),
    ),
    Row(
        file=f"{META}/partition.metadata",
        path=f"{META}/partition.metadata",
        outcomes=_all(_NOTHING),
    ),
)
# Lines that may come too.
ALSO: Final = frozenset(
    {"log directory offline", "records missing in a segment file", "foreign file ignored"}
)
_HEAD: Final = f"""\
# The data directory, and what to do when a file is damaged

Look up what a start does with a damaged file of `log.dirs`, and what you should do. Log lines name
the file, what was found and, if you can do something, the remedy.

1. Read the lines with `ERROR` and `WARNING` of the last start.
2. If the broker did not start, the last line names the file and the remedy. Copy the directory
   before you change anything in it.
3. If it started, look for the partitions of your topics in these lines. Consumers skip records that
   a segment has lost. They must seek over a damaged batch in the middle of a segment.

This page is generated: change the table in `tests/broker/damage_table.py`, then run
`python -m tests.broker.damage_table > docs/reference/data-directory.md`.

## Foreign files

A plain file, or a directory that is not a partition's, is left alone with the warning `foreign file
ignored`. A directory with the name of a partition is foreign if it has files but none of a
partition. Files named `*.tmp`, `*.deleted` and `*.cleaned` in a partition are left from an
interrupted change and are removed. Directories that end with `-delete` are removed after
`log.segment.delete.delay.ms`. Those that end with `-stray` stay until you remove them.
A directory that ends with `-future` is the copy of a replica that moves here from another one.

## The metadata log

`recovery-point-offset-checkpoint` has a line for `{META}`: all records below that offset
are on the disk. The broker does not start if the metadata log ends below it, is damaged below it,
or is damaged before further whole batches. Only a tail that looks torn by a power loss is cut.
Apache Kafka ignores this line.

A start offset above both the end of the log and its high watermark is ignored with a warning. The
log then begins with its first segment.

## Each file, each damage

The stop before was clean, unless the row says otherwise. A dash: such files have no version.

"""


def document() -> str:
    """The page."""
    names = list(DAMAGES)
    lines = [f"| File | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for row in ROWS:
        cells = [row.outcomes[name].words if name in row.outcomes else "—" for name in names]
        lines.append(f"| `{row.file}` | {' | '.join(cells)} |")
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(document(), end="")
