"""`trio-kafka token list`."""

from tests.cli.token.kit import Login
from trio_kafka.cli.token.list import as_text
from trio_kafka.clients.admin.tokens import DelegationToken


def test_tokens_are_listed_by_owner_and_without_their_passwords(ann: Login) -> None:
    token = ann.create("--owner", "User:l1", "--renewer", "User:l2")

    for owner in ("User:l1", "User:l2"):
        output = ann.run("token", "list", "--owner", owner)
        head, row = map(str.split, output.splitlines())
        assert head == ["id", "owner", "requester", "renewers", "issued", "expires", "ends"]
        assert row[:4] == [token["token_id"], "User:l1", "User:ann", "User:l2"]
        assert token["hmac"] not in output
    assert token["hmac"] in ann.run("token", "list", "--show-hmac")
    (row,) = ann.json("token", "list", "--owner", "User:l1", "--show-hmac")["tokens"]
    assert row["hmac"] == token["hmac"]
    (row,) = ann.json("token", "list", "--owner", "User:l1")["tokens"]
    assert "hmac" not in row


def test_token_that_expires_after_the_last_year_never_expires() -> None:
    token = DelegationToken(
        token_id="id", owner="User:a", issue_ms=0, expiry_ms=1, max_ms=(1 << 63) - 1, hmac=b""
    )

    row = list(as_text([token]))[1].split()

    assert row[2:4] == ["-", "-"]
    assert row[-1] == "never"
