"""`trio-kafka cert dev`: a throw-away authority, certificates, and the settings that use them."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypedDict, Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.install_hint import install_command

_ALWAYS: Final = ("localhost", "127.0.0.1", "::1")
_SECRET: Final = 0o600
_PUBLIC: Final = 0o644


class Options(TypedDict):
    """Options of the command."""

    directory: str
    host: Sequence[str]
    client: Sequence[str]
    days: int
    replace: bool
    json: bool


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "directory", nargs="?", default="certs", help="where the files go (default: certs)"
    )
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="name or address of the broker, besides localhost; may be repeated",
    )
    parser.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="NAME",
        help="user with a certificate of its own; may be repeated (default: client)",
    )
    parser.add_argument(
        "--days", type=int, default=30, help="validity of all certificates (default: %(default)s)"
    )
    parser.add_argument(
        "--replace", action="store_true", help="write over files of an earlier call"
    )
    declare_json(parser, "one JSON object: `directory`, `files`, `broker`, `clients`")


def dev(**options: Unpack[Options]) -> int:
    """Make an authority, a broker's certificate and clients' certificates, in PEM with P-256 keys.

    For development: the keys are not encrypted, and the authority's own key is thrown away.
    """
    if not 0 < options["days"] <= 3650:
        raise CommandFailedError(f"--days {options['days']}: want 1 to 3650")
    directory = Path(options["directory"]).absolute()
    clients = list(dict.fromkeys(options["client"] or ["client"]))
    for name in clients:
        if not name or name in ("ca", "broker") or not set(name).isdisjoint('/\\,=+<>#;"\0'):
            raise CommandFailedError(f"--client {name}: want a plain name other than ca and broker")
    contents = _contents([*_ALWAYS, *options["host"]], clients, options["days"])
    broker = _broker_settings(directory)
    settings = {name: _client_settings(directory, name) for name in clients}
    contents["broker.properties"] = _properties(broker)
    contents |= {f"{name}.properties": _properties(own) for name, own in settings.items()}
    _write(directory, contents, replaces=options["replace"])
    if options["json"]:
        files = {name: str(directory / name) for name in contents}
        print_json(
            {"directory": str(directory), "files": files, "broker": broker, "clients": settings}
        )
    else:
        print("\n".join(_shown(directory, clients)))
    return 0


def _contents(hosts: Sequence[str], clients: Sequence[str], days: int) -> dict[str, str]:
    try:
        from trio_kafka.security.tls.development import Identity  # noqa: PLC0415 - of an extra
    except ImportError:
        reason = f"certificates need a library: {install_command('trio-kafka[tls]')}"
        raise CommandFailedError(reason, FAILED) from None
    now = datetime.now(UTC)
    authority = Identity.authority(now, days=days)
    contents = {"ca.pem": authority.pem}
    broker = authority.issue(now, "broker", hosts=list(dict.fromkeys(hosts)), days=days)
    contents["broker.pem"] = broker.key_pem() + broker.pem
    for name in clients:
        client = authority.issue(now, name, days=days)
        contents[f"{name}.pem"] = client.key_pem() + client.pem
    return contents


def _broker_settings(directory: Path) -> dict[str, str]:
    return {
        "listeners": "SSL://:9093",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
        "ssl.client.auth": "requested",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
    }


def _client_settings(directory: Path, name: str) -> dict[str, str]:
    return {
        "bootstrap.servers": "localhost:9093",
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / f"{name}.pem"),
    }


def _properties(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={text}\n" for name, text in settings.items())


def _write(directory: Path, contents: Mapping[str, str], *, replaces: bool) -> None:
    """Write all files; keys are for this user alone."""
    present = [name for name in contents if (directory / name).exists()]
    if present and not replaces:
        reason = f"{directory / present[0]} exists: choose another directory, or --replace"
        raise CommandFailedError(reason, FAILED)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            mode = _SECRET if "PRIVATE KEY" in text else _PUBLIC
            temporary = directory / f".{name}.new"  # a broker never reads half a file
            temporary.unlink(missing_ok=True)  # of a call that was interrupted
            # Not one that another user has put there, or that a link leads to.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(directory / name)
    except OSError as error:
        raise CommandFailedError(f"{error.filename}: {error.strerror}", FAILED) from error


def _shown(directory: Path, clients: Sequence[str]) -> Iterator[str]:
    yield f"made in {directory}:"
    yield "  ca.pem, broker.pem, " + ", ".join(f"{name}.pem" for name in clients)
    yield ""
    yield "the broker:"
    yield f"  trio-kafka start {directory / 'broker.properties'} -c log.dirs=/tmp/kafka-logs"
    yield "our commands and Java's clients:"
    yield f"  trio-kafka topic list --command-config {directory / clients[0]}.properties"
    yield "librdkafka (confluent-kafka, kcat):"
    yield f"  ssl.ca.location={directory / 'ca.pem'}"
    yield f"  ssl.certificate.location={directory / clients[0]}.pem"
    yield f"  ssl.key.location={directory / clients[0]}.pem"
    yield "Python (aiokafka, kafka-python):"
    yield f'  ssl_context=ssl.create_default_context(cafile="{directory / "ca.pem"}")'
