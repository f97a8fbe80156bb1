"""`trio-kafka group seek`."""

import json

import pytest

from tests.cli.kit import Shell


def committed(shell: Shell, group: str) -> list[int]:
    rows = json.loads(shell.run("group", "lag", group, "--json"))["lags"]
    return [row["committed"] for row in rows]


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        (["--to", "earliest"], [0, 0]),
        (["--to", "latest"], [3, 2]),
        (["--to", "1"], [1, 1]),
        (["--to", "99"], [3, 2]),
        (["--to", "+1"], [2, 2]),
        (["--to=-1"], [0, 1]),
        (["--to", "@1500"], [2, 0]),
        (["--to", "@2099-01-01"], [3, 2]),
        (["--to", "earliest", "-p", "1"], [1, 0]),
    ],
)
def test_each_target_moves_the_offsets_within_the_log(
    shell: Shell, group: str, options: list[str], offsets: list[int]
) -> None:
    shell.run("group", "seek", group, *options)

    assert committed(shell, group) == offsets


def test_offsets_come_from_a_csv_file(shell: Shell, group: str, tmp_path) -> None:
    path = tmp_path / "offsets.csv"
    path.write_text("read,0,3\nread,1,0\n")

    shell.run("group", "seek", group, "--from-file", str(path))

    assert committed(shell, group) == [3, 0]


def test_dry_run_moves_nothing(shell: Shell, group: str) -> None:
    output = shell.run("group", "seek", group, "--to", "earliest", "--dry-run").decode()

    assert output.startswith("would move group billing in read-0 from 1 to 0\n")
    assert "--reset-offsets --execute --topic read:0 --to-offset 0" in output
    assert committed(shell, group) == [1, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--to", "soon"], "--to soon: want earliest, latest"),
        (["--to", "+-1"], "want earliest, latest"),
        (["--to", "@soon"], "--to: 'soon' is not a time"),
        (["--from-file", "/no/such"], "/no/such: No such file"),
    ],
)
def test_wrong_target_is_rejected(shell: Shell, group: str, options: list[str], words: str) -> None:
    assert words in shell.fail("group", "seek", group, *options, status=2)


def test_group_without_offsets_needs_a_topic(shell: Shell, group: str) -> None:
    assert "name topics with --topic" in shell.fail("group", "seek", "new", "--to", "earliest")
    line = shell.fail("group", "seek", "new", "--to", "+1", "-t", "read", status=2)
    assert "read-0: the group has no offset there to shift" in line
