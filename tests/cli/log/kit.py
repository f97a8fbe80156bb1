"""Log directories that Kafka wrote, what its own tool prints of them, and logs of a test."""

import gzip
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.records.kit import encode_batch
from trio_kafka.cli import main
from trio_kafka.log.files.names import offset_file
from trio_kafka.records.batch import Record

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / name / "data" for name in ("cli/log", "log", "coordinators", "raft")]
ARCHIVES = (
    "cluster_metadata",
    "compacted",
    "consumer_offsets",
    "dynamic_quorum",
    "epochs",
    "gzip",
    "log_dir_root",
    "logappend",
    "lz4",
    "plain",
    "running_indexes",
    "share_group_state",
    "snappy",
    "todelete",
    "transaction_state",
    "trimmed",
    "txn",
    "zstd",
)
PRINTED = tuple(name for name in ARCHIVES if name not in ("log_dir_root", "running_indexes"))


def extract(archive: str, target: Path) -> Path:
    """The directory with the files of an archive."""
    [path] = [
        folder / f"{archive}.tar.gz"
        for folder in FOLDERS
        if (folder / f"{archive}.tar.gz").exists()
    ]
    with tarfile.open(path) as tar:
        tar.extractall(target, filter="data")
    return target


def expected(archive: str) -> str:
    """Return the output of Kafka's DumpLogSegments for an archive."""
    raft = ROOT / "raft" / "data" / f"{archive}.txt.gz"
    if raft.exists():
        return gzip.decompress(raft.read_bytes()).decode()
    with tarfile.open(ROOT / "cli" / "log" / "data" / "expected.tar.gz") as tar:
        file = tar.extractfile(f"{archive}.txt")
        assert file is not None
        return file.read().decode(errors="replace")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Status and lines of a command."""
    status = main(["log", *arguments])
    return status, capsys.readouterr().out.splitlines()


def run_json(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[dict[str, Any]]]:
    status, lines = run(capsys, *arguments, "--json")
    return status, [json.loads(line) for line in lines]


# --- logs of a test


def records(*values: str, time: int = 1000) -> list[Record]:
    return [
        Record(key=b"k", value=value.encode(), timestamp=time + number)
        for number, value in enumerate(values)
    ]


def write_log(folder: Path, base: int, batches: Iterable[bytes]) -> Path:
    """A segment's file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / offset_file(base, ".log")
    path.write_bytes(b"".join(batches))
    return path


def three_batches(base: int = 0, epoch: int = 0) -> list[bytes]:
    """Batches of two records each, one after the other, of growing times."""
    return [
        encode_batch(records("a", "b", time=1000 + offset), offset, epoch)
        for offset in range(base, base + 6, 2)
    ]


def findings(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """`level name: text` of each finding."""
    return [
        f"{row['level']} {Path(row['path']).name}: {row['text']}"
        for row in rows
        if row["is"] == "finding"
    ]


# --- lines of Kafka's tool, in the form of our JSON

_PAIR = re.compile(r"(\w+): (\S+)")
_RECORD = re.compile(
    r"\| offset: (\d+) (CreateTime|LogAppendTime): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+)"
    r" sequence: (-?\d+) headerKeys: \[([^\]]*)\] ?(.*)",
    re.DOTALL,
)
_CONTROL = re.compile(r"(\w+):? (\{.*\})")
_KEYED = re.compile(r'key: (\{"type".*?\}) payload: (\{"version".*\}|<DELETE>)')


def kafkas_pieces(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name of the file, batch, record or entry as a dict) of each line."""
    name = ""
    for line in text.splitlines():
        if line.startswith("Dumping "):
            name = line.removeprefix("Dumping ").rpartition("/")[2]
        elif line.startswith("baseOffset:"):
            yield name, _batch(dict(_PAIR.findall(line)))
        elif match := _RECORD.fullmatch(line):
            yield name, _record(match)
        elif line.startswith(("offset:", "timestamp:", "producerId:", "version:")):
            yield name, _entry(dict(_PAIR.findall(line)))


def _number(text: str) -> int | None:
    return (
        None if text == "OptionalLong.empty" else int(re.sub(r"OptionalLong\[(.*)\]", r"\1", text))
    )


def _batch(fields: dict[str, str]) -> dict[str, Any]:
    kind = "LogAppendTime" if "LogAppendTime" in fields else "CreateTime"
    return {
        "is": "batch",
        "base_offset": int(fields["baseOffset"]),
        "last_offset": int(fields["lastOffset"]),
        "records": int(fields["count"]),
        "base_sequence": int(fields["baseSequence"]),
        "last_sequence": int(fields["lastSequence"]),
        "producer_id": int(fields["producerId"]),
        "producer_epoch": int(fields["producerEpoch"]),
        "leader_epoch": int(fields["partitionLeaderEpoch"]),
        "transactional": fields["isTransactional"] == "true",
        "control": fields["isControl"] == "true",
        "delete_horizon": _number(fields["deleteHorizonMs"]),
        "position": int(fields["position"]),
        "timestamp_type": kind,
        "timestamp": int(fields[kind]),
        "bytes": int(fields["size"]),
        "magic": int(fields["magic"]),
        "codec": fields["compresscodec"],
        "crc": int(fields["crc"]),
        "valid": fields["isvalid"] == "true",
    }


def _record(match: re.Match[str]) -> dict[str, Any]:
    offset, _, time, key_size, value_size, sequence, headers, rest = match.groups()
    shown: dict[str, Any] = {
        "is": "record",
        "offset": int(offset),
        "timestamp": int(time),
        "key_size": int(key_size),
        "value_size": int(value_size),
        "sequence": int(sequence),
        "headers": headers.split(",") if headers else [],
    }
    if marker := re.fullmatch(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", rest):
        return {**shown, "type": marker[1], "value": {"coordinatorEpoch": int(marker[2])}}
    if keyed := _KEYED.fullmatch(rest):
        key = json.loads(keyed[1])
        value = {} if keyed[2] == "<DELETE>" else json.loads(keyed[2])
        return {
            **shown,
            "number": int(key["type"]),
            "key": key["data"],
            "version": int(value["version"]) if value else None,
            "value": value.get("data"),
        }
    if rest.startswith('payload: {"type"'):
        value = json.loads(rest.removeprefix("payload: "))
        name = "".join(word.capitalize() for word in value["type"].split("_"))
        return {**shown, "type": name, "version": value["version"], "value": value["data"]}
    if control := _CONTROL.fullmatch(rest):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", control[1]).upper()
        return {**shown, "type": name, "value": json.loads(control[2])}
    texts = re.fullmatch(r"(?:key: (.*?))?\s?(?:payload: (.*))?", rest, re.DOTALL)
    assert texts is not None, rest
    return {**shown, "key": texts[1], "value": texts[2]}


def _entry(fields: dict[str, str]) -> dict[str, Any]:
    if "currentTxnFirstOffset" not in fields:
        return {"is": "entry", **{_snake(name): int(text) for name, text in fields.items()}}
    first = _number(fields.pop("currentTxnFirstOffset"))
    fields.pop("lastTimestamp")
    shown = {_snake(name): int(text) for name, text in fields.items()}
    return {"is": "entry", **shown, "transaction_first_offset": first}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
