"""`trio-kafka group delete`."""

from tests.cli.kit import Shell


def test_group_is_deleted_with_its_offsets(shell: Shell, group: str) -> None:
    dry = shell.run("group", "delete", group, "--dry-run")
    line = shell.run("group", "delete", group)

    assert dry.startswith(b"would delete group billing\n")
    assert line == b"done: delete group billing\n"
    assert "no such group" in shell.fail("group", "list", group)
