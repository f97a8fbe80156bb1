"""Changes of several credentials: one of each user in a request."""

from tests.cli.kit import Shell
from tests.cli.user.test_delete import BOTH, create
from trio_kafka.cli.admin import open_cluster
from trio_kafka.cli.user.credentials import alter_credentials
from trio_kafka.clients.admin.users import UserScramCredentialDeletion
from trio_kafka.errors import ErrorCode

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def test_the_first_error_of_a_user_ends_its_changes_and_no_others(shell: Shell) -> None:
    create(shell, "e1", "--mechanism", SHA_512)
    create(shell, "e2")
    deletions = [
        UserScramCredentialDeletion(user, mechanism)
        for user in ("e1", "e2")
        for mechanism in (SHA_256, SHA_512)
    ]

    with open_cluster(shell.bootstrap, 30) as admin:
        results = alter_credentials(admin, deletions)

    assert results.values_by_item.keys() == {("e2", SHA_256), ("e2", SHA_512)}
    assert {key: error.code for key, error in results.errors.items()} == {
        ("e1", SHA_256): ErrorCode.RESOURCE_NOT_FOUND
    }
    assert SHA_512.encode() in shell.run("user", "list", "e1")


def test_a_command_reports_what_it_did_before_an_error_and_not_what_it_left_out(
    shell: Shell,
) -> None:
    create(shell, "e3", "--mechanism", SHA_512)
    create(shell, "e4", "--mechanism", SHA_256)

    status, output, errors = shell.result("user", "delete", "e3", "e4", *BOTH)

    assert (status, output) == (1, b"done: delete user e4: SCRAM-SHA-256\n")
    of_e3, of_e4 = errors.splitlines()
    assert f"RESOURCE_NOT_FOUND: user e3: {SHA_256}: Attempt to delete a user" in of_e3
    assert f"RESOURCE_NOT_FOUND: user e4: {SHA_512}: Attempt to delete a user" in of_e4
    assert SHA_512.encode() in shell.run("user", "list", "e3")
