"""`trio-kafka token expire`."""

from tests.cli.token.kit import Login


def test_a_token_ends_at_once_or_after_a_period(ann: Login) -> None:
    first, second = ann.create(), ann.create()

    output = ann.run("token", "expire", first["token_id"])
    (row,) = ann.json("token", "expire", second["token_id"], "--period", "5m")["changes"]

    assert output.startswith(f"done: expire token {first['token_id']} of User:ann: ")
    assert 300_000 <= row["expiry_ms"] - second["issue_ms"] < 3_600_000
    assert first["token_id"] not in ann.ids()
    assert second["token_id"] in ann.ids()


def test_a_dry_run_ends_no_token(ann: Login) -> None:
    token = ann.create()

    output = ann.run("token", "expire", token["token_id"], "--dry-run")

    assert output.splitlines()[0] == f"would expire token {token['token_id']} of User:ann"
    assert "--expire --expiry-time-period -1 --hmac HMAC" in output
    assert token["token_id"] in ann.ids()
