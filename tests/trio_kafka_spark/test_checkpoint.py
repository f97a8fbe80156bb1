"""Starting offsets out of a checkpoint."""

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from trio_kafka_spark.checkpoint import CheckpointError, checkpoint, committed, declare

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def write(directory: Path, batch: int, *sources: str, commit: bool = True) -> str:
    for name in ("offsets", "commits"):
        (directory / name).mkdir(exist_ok=True)
    text = "\n".join(["v1", METADATA, *sources])
    (directory / "offsets" / str(batch)).write_text(text)
    (directory / "offsets" / f".{batch}.crc").write_bytes(b"crc")
    if commit:
        (directory / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        (directory / "commits" / f".{batch}.crc").write_bytes(b"crc")
    return str(directory)


def test_the_last_committed_batch_is_printed_as_starting_offsets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, 9, '{"t":{"0":90}}')
    write(tmp_path, 10, '{"t": {"1": 7, "0": 100}, "a": {"0": 1}}')
    write(tmp_path, 11, '{"t":{"0":110,"1":8}}', commit=False)
    parser = ArgumentParser()
    declare(parser)

    status = checkpoint(**vars(parser.parse_args([str(tmp_path)])))

    assert status == 0
    assert capsys.readouterr().out == '{"a":{"0":1},"t":{"0":100,"1":7}}\n'


def test_the_beginning_noted_in_a_first_batch_is_left_out_of_the_offsets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, 0, '{"t": {"0": 9}, "began at {\\"t\\":{\\"0\\":5}}": {}}')

    assert checkpoint(path=path, source=None) == 0
    assert capsys.readouterr().out == '{"t":{"0":9}}\n'


def test_a_checkpoint_is_found_by_file_url_or_by_path(tmp_path: Path) -> None:
    write(tmp_path, 0, '{"t":{"0":1}}')

    assert committed(f"file://{tmp_path}") == committed(str(tmp_path))


def test_a_source_of_several_is_chosen_by_number_and_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, 0, '{"logOffset":3}', '{"a":{"0":1}}', "-", '{"b":{"0":2}}')

    assert checkpoint(path=path, source=3) == 0
    assert json.loads(capsys.readouterr().out) == {"b": {"0": 2}}
    assert checkpoint(path=path, source=None) == 1
    assert "sources of topics are [1, 3] of 4; choose one of them with --source" in (
        capsys.readouterr().err
    )


def test_directories_without_a_committed_batch_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected the directories offsets and commits"):
        committed(str(tmp_path))
    write(tmp_path, 0, '{"t":{"0":1}}', commit=False)
    with pytest.raises(CheckpointError, match="no batch is committed"):
        committed(str(tmp_path))
    with pytest.raises(CheckpointError, match="expected a local directory"):
        committed("hdfs://host/path")


def test_an_unknown_checkpoint_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 0, '{"t":{"0":1}}')
    (tmp_path / "offsets" / "0").write_text("v9\n{}\nx")

    with pytest.raises(CheckpointError, match="found version 'v9'; expected v1"):
        committed(str(tmp_path))
