"""Profiles: clusters by name, in a file of the user that nobody else can read.

The file is `trio-kafka/profiles.json` below XDG_CONFIG_HOME, else `~/.config`: `profiles` with the
settings of each by Kafka's names, and `used`, the name of the profile of all commands, or null.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import Factory, evolve

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.strict_json import dump_json, parse_json

HIDDEN: Final = "(hidden)"
_SECRET: Final = re.compile(
    r"password|passphrase|secret|jaas|\.key$|private\.key|assertion\.file|http\.token"
)
_PRIVATE: Final = 0o600


@frozen(kw_only=True)
class Profiles:
    """Settings of clients by profile, and the profile in use."""

    profiles: Mapping[str, Mapping[str, str]] = Factory(dict)
    used: str | None = None

    def find(self, name: str) -> Mapping[str, str]:
        """Return the settings of a profile. Raises CommandFailedError, with the nearest name."""
        settings = self.profiles.get(name)
        if settings is None:
            from trio_kafka.cli.near_names import nearest  # noqa: PLC0415 - only for errors

            hint = nearest(name, list(self.profiles))
            raise CommandFailedError(
                f"profile {name}: there is no such profile{hint or '; see `profile list`'}"
            )
        return settings

    def with_profile(self, name: str, settings: Mapping[str, str]) -> "Profiles":
        """Return these profiles and one more, or another one of this name."""
        return evolve(self, profiles={**self.profiles, name: settings})

    def without(self, name: str) -> "Profiles":
        """Return these profiles without one. Raises CommandFailedError."""
        self.find(name)
        profiles = {other: row for other, row in self.profiles.items() if other != name}
        return Profiles(profiles=profiles, used=None if self.used == name else self.used)


def profiles_path() -> Path:
    """Return the path of the file."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "trio-kafka" / "profiles.json"


def read_profiles() -> Profiles:
    """Return the profiles of the user. Raises CommandFailedError."""
    path = profiles_path()
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
        profiles = {
            str(name): {str(setting): str(value) for setting, value in settings.items()}
            for name, settings in document["profiles"].items()
        }
        return Profiles(profiles=profiles, used=document.get("used"))
    except (FileNotFoundError, NotADirectoryError):
        return Profiles()
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}", FAILED) from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        # What it holds is not told: it may be secret.
        raise CommandFailedError(f"{path}: not a file of profiles", FAILED) from error


def write_profiles(profiles: Profiles) -> None:
    """Replace the profiles of the user, all or nothing. Raises CommandFailedError."""
    path = profiles_path()
    text = dump_json({"used": profiles.used, "profiles": profiles.profiles}, indent=2)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}", FAILED) from error


def find_profile(name: str) -> Mapping[str, str]:
    """Return the checked settings of a profile. Raises CommandFailedError."""
    from trio_kafka.cli.client_settings import check_settings  # noqa: PLC0415 - imports settings

    settings = read_profiles().find(name)
    if len(settings) > 1:  # more than the address
        check_settings(settings)
    return settings


def default_profile(name: str | None) -> Mapping[str, str]:
    """Return the settings of a profile, else of the one in use, else none."""
    name = name or read_profiles().used
    return find_profile(name) if name else {}


def shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings with secrets hidden."""
    return {
        name: HIDDEN if _SECRET.search(name) else value for name, value in sorted(settings.items())
    }
