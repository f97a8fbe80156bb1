"""Settings of a client from options: a profile, files of clients, and `--property NAME=VALUE`."""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.cluster_address import HTTP_NAMES, SERVERS, Bootstrap, split_http

if TYPE_CHECKING:
    from trio_kafka.clients.settings.admin import AdminSettings
    from trio_kafka.clients.settings.common import ClientSettings


def parse_properties(texts: Sequence[str]) -> dict[str, str]:
    """Return the settings of options NAME=VALUE. Raises CommandFailedError."""
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise CommandFailedError(f"--property {text}: want NAME=VALUE")
        settings[name] = value
    return settings


def settings_of_files(command_config: Sequence[str], config_file: Sequence[str]) -> dict[str, str]:
    """Return the settings of .properties files, and of librdkafka's. Raises CommandFailedError."""
    if not (command_config or config_file):
        return {}
    from trio_kafka.cli.property_files import read_java, read_librdkafka  # noqa: PLC0415 - as above

    settings: dict[str, str] = {}
    for path in command_config:
        settings |= read_java(path)
    for path in config_file:
        settings |= read_librdkafka(path)
    check_settings(settings)
    return settings


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise CommandFailedError for values that no client could be opened with.

    So a command with a connection of its own does not ignore, say, that TLS is wanted.
    """
    settings, http = split_http(settings)
    for name in http.keys() - set(HTTP_NAMES):
        raise CommandFailedError(f"setting {name}: want one of {', '.join(HTTP_NAMES)}")
    admin_settings_of(settings)


def admin_settings_of(settings: Mapping[str, str]) -> "AdminSettings":
    """Return what an admin client has of settings. Raises CommandFailedError."""
    from trio_kafka.clients.settings.admin import AdminSettings  # noqa: PLC0415 - as above
    from trio_kafka.clients.settings.load import admin_settings, select_settings  # noqa: PLC0415
    from trio_kafka.config.setting import ConfigError  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return admin_settings({SERVERS: "h:1", **select_settings(AdminSettings, settings)})
    except ConfigError as error:
        raise CommandFailedError(f"setting {error}") from error


def settings_for(
    cls: type["ClientSettings"], bootstrap: str, options: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return what a user has set for a kind of client, with the addresses.

    Options of the command go before profiles and files, `--property` before both.
    """
    if not isinstance(bootstrap, Bootstrap):
        return {**(options or {}), SERVERS: bootstrap}
    settings: dict[str, str] = {}
    if bootstrap.settings:
        from trio_kafka.clients.settings.load import select_settings  # noqa: PLC0415 - as above

        settings = select_settings(cls, bootstrap.settings)
    return {**settings, **(options or {}), **bootstrap.properties, SERVERS: str(bootstrap)}


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print warnings as lines on the standard error."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"trio-kafka: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextmanager
def client_errors(address: object) -> Iterator[None]:
    """Turn errors of clients and settings into the end of a command, warnings into lines."""
    from trio_kafka.clients.errors import ClientError  # noqa: PLC0415 - only with a client
    from trio_kafka.config.setting import ConfigError  # noqa: PLC0415

    try:
        with shown_warnings():
            yield
    except ConfigError as error:
        raise CommandFailedError(f"setting {error}") from error
    except ClientError as error:
        raise CommandFailedError(f"{address}: {error}", FAILED) from error
