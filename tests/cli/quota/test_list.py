"""`trio-kafka quota list`."""

from tests.cli.kit import Shell


def test_list_shows_all_quotas_or_those_of_a_default(shell: Shell) -> None:
    shell.run("quota", "set", "request_percentage=12.5", "--default", "user")
    shell.run("quota", "set", "connection_creation_rate=1234567", "--ip", "10.0.0.1")

    every = shell.run("quota", "list").decode()
    default = shell.run("quota", "list", "--default", "user").decode().splitlines()[1:]

    assert "ip=10.0.0.1" in every
    assert "1234567" in every
    assert [row.split()[:3] for row in default] == [
        ["user=(default)", "request_percentage", "12.5"]
    ]
