"""Address and credentials of commands that speak HTTP, and such commands against a broker."""

import io
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import authority, server
from trio_kafka.cli import LATER, CommandFailedError, main
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.http_address import CA, PASSWORD, TOKEN, USER, HttpAddress, declare_http
from trio_kafka.cli.saved_profiles import Profiles, write_profiles
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka_admin.plugin import admin
from trio_kafka_builtin.faults.plugin import faults
from trio_kafka_http.plugin import http

HOME = {
    "bootstrap.servers": "h:1",
    "trio.http.url": "https://home.example:1/admin",
    "trio.http.ca": "home.pem",
    "trio.http.user": "ann",
    "trio.http.password": "s3cret",
}


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile `home`, which is in use, and `other`, with a token."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in (CA, TOKEN, USER, PASSWORD, "TRIO_KAFKA_ADMIN", "TRIO_KAFKA_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    other = {
        "bootstrap.servers": "o:1",
        "trio.http.url": "https://o.example:1/",
        "trio.http.token": "t",
    }
    write_profiles(Profiles(profiles={"home": HOME, "other": other}, used="home"))


def address_of(*words: str, after_cluster: bool = False) -> HttpAddress:
    parser = ArgumentParser()
    if after_cluster:
        declare_broker(parser)
    declare_http(parser, after_cluster=after_cluster)
    values = vars(parser.parse_args(words))
    for key in [key for key in values if key.startswith(LATER)]:
        values.pop(key)(values)
    address = values["at"]
    assert isinstance(address, HttpAddress)
    assert set(values) == ({"at", "bootstrap", "timeout"} if after_cluster else {"at"})
    return address


def proof(address: HttpAddress) -> tuple[str, str, str, str]:
    credentials = address.credentials
    return credentials.ca, credentials.user, credentials.password, credentials.token


def test_profile_in_use_has_the_address_and_the_credentials(profiles: None) -> None:
    address = address_of()

    assert address == "https://home.example:1/admin"
    assert proof(address) == ("home.pem", "ann", "s3cret", "")
    assert "s3cret" not in repr(address.credentials)
    assert proof(address_of("--profile", "other")) == ("", "", "", "t")


def test_credentials_of_a_profile_in_use_go_to_its_own_server_only(profiles: None) -> None:
    assert proof(address_of("--at", "https://elsewhere.example:1/admin")) == ("", "", "", "")
    assert proof(address_of("--at", "http://home.example:1/admin")) == ("", "", "", "")
    assert proof(address_of("--at", "https://home.example:1/other"))[1:3] == ("ann", "s3cret")
    assert proof(address_of("--at", "https://elsewhere.example:1", "--profile", "home"))[1] == "ann"


def test_profiles_that_cannot_be_read_matter_only_to_a_command_without_an_address(
    profiles: None, tmp_path: Path
) -> None:
    (tmp_path / "trio-kafka" / "profiles.json").write_text("no JSON")

    assert address_of("--at", "https://elsewhere.example:1") == "https://elsewhere.example:1"
    with pytest.raises(CommandFailedError, match="not a file of profiles"):
        address_of()


def test_the_environment_goes_before_a_profile_and_options_before_both(
    profiles: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("pw\nmore")
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv(USER, "eve")
    monkeypatch.setenv(PASSWORD, "of eve")
    monkeypatch.setenv(CA, "env.pem")

    assert proof(address_of()) == ("env.pem", "eve", "of eve", "")
    assert proof(address_of("--ca", "x.pem", "--user", "eve"))[:3] == ("x.pem", "eve", "of eve")
    named = address_of("--user", "bob", "--password-file", str(tmp_path / "password"))
    assert proof(named) == ("env.pem", "bob", "pw", "")
    assert proof(address_of("--token-file", str(tmp_path / "token"))) == (
        "env.pem",
        "",
        "",
        "secret",
    )


def test_a_command_with_a_cluster_takes_the_credentials_of_its_profile(profiles: None) -> None:
    assert proof(address_of(after_cluster=True))[1] == "ann"
    assert proof(address_of("--profile", "other", after_cluster=True))[3] == "t"
    elsewhere = address_of("--bootstrap", "x:1", after_cluster=True)
    assert (elsewhere, proof(elsewhere)) == ("", ("", "", "", ""))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--token-file", "t", "--user", "ann"], "give it, or --user, not both"),
        (["--password-file", "p"], "whose. give --user NAME"),
        (["--user", "bob"], "no password of bob: give --password-file"),
        (["--token-file", "/none"], "/none: No such file"),
        (["--token-file", "/dev/null"], "its first line is empty"),
        (["--profile", "none"], "there is no such profile"),
    ],
)
def test_options_without_sense_are_refused(
    profiles: None, words: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandFailedError, match=reason):
        address_of(*words)


def test_profile_with_settings_of_http_hides_its_secrets_and_refuses_unknown_ones(
    profiles: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "show", "home"]) == 0
    shown = capsys.readouterr().out
    assert "https://home.example:1/admin" in shown
    assert "s3cret" not in shown
    added = ["profile", "add", "new", "--bootstrap", "h:1", "--property"]
    assert main([*added, "trio.http.url=https://n.example:1"]) == 0
    assert main([*added, "trio.http.urls=https://n.example:1", "--replace"]) == 2
    assert "trio.http.urls: want one of trio.http.url" in capsys.readouterr().err
    assert main(["profile", "show", "other"]) == 0
    assert "(hidden)" in capsys.readouterr().out


@pytest.fixture(scope="module")
def secured() -> Iterator[tuple[Kafka, str]]:
    """A broker whose HTTP plane has TLS, with users who may look, fault, and nothing."""
    settings = {
        "plugin.http.listeners": "https://127.0.0.1:0",
        "plugin.http.ssl.keystore.type": "PEM",
        "plugin.http.ssl.keystore.key": server().key_pem(),
        "plugin.http.ssl.keystore.certificate.chain": server().pem,
        "plugin.faults.enabled": "true",
    }
    with running_broker(
        settings,
        plugins=[http, admin, faults],
        users={"ann": "secret", "eve": "nothing"},
        acls=["allow ann to DESCRIBE cluster", "allow ann to CLUSTER_ACTION cluster"],
    ) as kafka:
        names = kafka.look(lambda broker: [node.name for _, node in broker.node.walk()])
        (listener,) = [name for name in names if name.startswith("https://")]
        yield kafka, listener


@pytest.fixture
def words(
    secured: tuple[Kafka, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    """Options of a command by user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ca.pem").write_text(authority().pem)
    options = {}
    for user, password in {"ann": "secret", "eve": "nothing", "mallory": "x"}.items():
        (tmp_path / user).write_text(f"{password}\n")
        named = ["--user", user, "--password-file", str(tmp_path / user)]
        options[user] = ["--ca", str(tmp_path / "ca.pem"), *named]
    return options


@pytest.mark.slow
def test_commands_log_in_over_https_and_say_which_permission_is_missing(
    secured: tuple[Kafka, str],
    words: dict[str, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, at = secured
    kept, looking = str(tmp_path / "kept.html"), ["--at", f"{at}/admin"]
    testing = ["--at", f"{at}/testing/v1"]

    assert main(["snapshot", *looking, *words["ann"], "-o", kept]) == 0
    # A change with a password of its own needs no page that it came from.
    assert main(["fault", "add", "api=Fetch", "observe", *testing, *words["ann"]]) == 0
    capsys.readouterr()
    for command in (["snapshot", *looking, "-o", kept], ["fault", "list", *testing]):
        assert main([*command, *words["eve"]]) == 1
        assert "User:eve has no permission" in capsys.readouterr().err
        assert main([*command, *words["mallory"]]) == 1
        assert "credentials are needed" in capsys.readouterr().err
        assert main([*command, *words["ann"][2:]]) == 1
        assert "name the file of its CA by --ca" in capsys.readouterr().err
    assert main(["fault", "add", "api=Fetch", "observe", *testing, *words["eve"]]) == 1
    error = capsys.readouterr().err
    assert "User:eve has no permission CLUSTER_ACTION on the cluster" in error
    assert "nothing" not in error


@pytest.mark.slow
def test_a_profile_has_all_that_a_command_over_https_needs(
    secured: tuple[Kafka, str],
    words: dict[str, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kafka, at = secured
    file = tmp_path / "profile.properties"
    settings = {
        "trio.http.url": f"{at}/admin",
        "trio.http.testing.url": f"{at}/testing/v1",
        "trio.http.ca": str(tmp_path / "ca.pem"),
        "trio.http.user": "ann",
        "trio.http.password": "secret",
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    add = ["profile", "add", "home", "--bootstrap", kafka.bootstrap, "--command-config", str(file)]

    assert main(add) == 0
    assert main(["record", "--profile", "home", "--seconds", "1", "-o", str(tmp_path / "t")]) == 0
    assert json.loads((tmp_path / "t").read_text())["traceEvents"]
    assert main(["profile", "use", "home"]) == 0
    assert main(["fault", "list", "--json"]) == 0
    assert "rules" in capsys.readouterr().out
