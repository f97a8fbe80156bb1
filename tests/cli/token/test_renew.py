"""`trio-kafka token renew`."""

from tests.cli.token.kit import Login


def test_a_renewer_lets_a_token_live_longer(ann: Login, bob: Login) -> None:
    token = ann.create("--renewer", "User:bob")

    (row,) = bob.json("token", "renew", token["token_id"], "--period", "1h")["changes"]
    later = bob.run("token", "renew", token["token_id"])

    assert 3_600_000 <= row["expiry_ms"] - token["issue_ms"] < token["expiry_ms"]
    assert later.startswith(f"done: renew token {token['token_id']} of User:ann: expires ")


def test_another_user_may_not_renew_and_a_dry_run_does_not(ann: Login, bob: Login) -> None:
    token = ann.create()

    assert "OWNER_MISMATCH" in bob.fail("token", "renew", token["token_id"])
    output = ann.run("token", "renew", token["token_id"], "--dry-run")
    assert output.splitlines()[0] == f"would renew token {token['token_id']} of User:ann"
    assert "--renew --renew-time-period -1 --hmac HMAC" in output
    assert token["hmac"] not in output


def test_an_unknown_token_is_named_and_nothing_is_changed(ann: Login) -> None:
    token = ann.create()

    line = ann.fail("token", "renew", token["token_id"], "nothing")

    assert line == "trio-kafka: token nothing: there is none that you may see"
