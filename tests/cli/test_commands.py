from trio_kafka.cli.commands import COMMANDS, FIRST_COMMANDS, GROUPS


def test_each_group_of_commands_has_a_line_of_its_own_and_a_command() -> None:
    groups = {name.partition(" ")[0] for name in COMMANDS if " " in name}

    assert GROUPS.keys() == groups


def test_no_line_stands_twice_in_the_list_of_commands() -> None:
    lines = [*GROUPS.values(), *(line for _, line in COMMANDS.values())]

    assert {line for line in lines if lines.count(line) > 1} == set()
    assert [line for line in lines if not line.endswith(".")] == []


def test_first_commands_name_known_commands() -> None:
    words = [line.split() for line in FIRST_COMMANDS.splitlines() if line.startswith("  trio")]

    assert len(words) == 10
    assert all({" ".join(row[1:2]), " ".join(row[1:3])} & set(COMMANDS) for row in words)
