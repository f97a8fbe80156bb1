"""Address of a broker's HTTP plane, with the credentials of a command, and where they come from.

In this order: options, the environment, the profile. A profile that is only the one in use gives
credentials to its own address alone, so that they go to no other server.
"""

import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.cli import LATER, CommandFailedError
from trio_kafka.cli.broker_options import PROFILE
from trio_kafka.cli.cluster_address import HTTP, HTTP_URL, Bootstrap, split_http

ADMIN_ADDRESS: Final = "TRIO_KAFKA_ADMIN"
TOKEN: Final = "TRIO_KAFKA_HTTP_TOKEN"  # noqa: S105 - the name of a variable
"""Variable with a token, which goes before a user."""
USER: Final = "TRIO_KAFKA_HTTP_USER"
PASSWORD: Final = "TRIO_KAFKA_HTTP_PASSWORD"  # noqa: S105 - the name of a variable
CA: Final = "TRIO_KAFKA_HTTP_CA"
"""Variable with a PEM file of what certificates of servers are trusted by; else the system's."""
_OPTIONS: Final = ("ca", "user", "password_file", "token_file")


@frozen(kw_only=True)
class HttpCredentials:
    """Credentials of a command, and the authorities that it trusts. No text shows a secret.

    A token goes before a user. ca: PEM file; empty: what the system trusts.
    """

    ca: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @classmethod
    def of_environment(cls, token: str = TOKEN) -> "HttpCredentials":
        """Return those of the environment. token: variable with the token."""
        ca, user, password, secret = (
            os.environ.get(name, "") for name in (CA, USER, PASSWORD, token)
        )
        return cls(ca=ca, user=user, password=password, token=secret)


class HttpAddress(str):
    """URL of an HTTP plane, or of a part of it; empty: it is not known. With credentials."""

    __slots__ = ("credentials",)

    credentials: HttpCredentials

    def __new__(cls, url: str, credentials: HttpCredentials) -> "HttpAddress":
        address = super().__new__(cls, url)
        address.credentials = credentials
        return address

    def at(self, url: str) -> "HttpAddress":
        """Return another address, to which the same credentials go."""
        return HttpAddress(url, self.credentials)


def declare_http(
    parser: ArgumentParser,
    purpose: str = "address of the admin UI",
    *,
    variable: str = ADMIN_ADDRESS,
    setting: str = HTTP_URL,
    token: str = TOKEN,
    after_cluster: bool = False,
) -> None:
    """Declare the options of a command that speaks HTTP; the value `at` is an HttpAddress.

    variable, setting: with the address, in the environment and in a profile. token: variable with
    the token. after_cluster: the options with a cluster are declared, `--profile` among them.
    """
    parser.add_argument(
        "--at",
        metavar="URL",
        help=f"{purpose} (default: {variable}, then {setting} of the profile)",
    )
    if not after_cluster:
        parser.add_argument(
            "--profile",
            metavar="NAME",
            help=f"profile with address and credentials (default: {PROFILE}, then the one in use)",
        )
    parser.add_argument(
        "--ca", metavar="FILE", help=f"PEM file of a CA, for https:// (default: {CA})"
    )
    parser.add_argument(
        "--user", metavar="NAME", help=f"user of SCRAM, or id of a token (default: {USER})"
    )
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        help=f"file whose first line is the password (default: {PASSWORD}, else ask)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"file whose first line is the plane's token, instead of a user (default: {token})",
    )
    parser.set_defaults(
        **{f"{LATER}at": partial(_find, variable, setting, token, after_cluster=after_cluster)}
    )


def _find(
    variable: str,
    setting: str,
    token: str,
    values: dict[str, object],
    *,
    after_cluster: bool,
) -> None:
    """Replace the options with an address by the address."""
    options = {name: str(values.pop(name) or "") for name in _OPTIONS}
    url = str(values["at"] or os.environ.get(variable) or "")
    if after_cluster:
        bootstrap = values["bootstrap"]
        profile, is_named = bootstrap.http if isinstance(bootstrap, Bootstrap) else {}, True
    else:
        name = values.pop("profile")
        is_named = name is not None
        try:
            profile = _profile(name)
        except CommandFailedError:
            if is_named or not url:
                raise
            profile = {}  # of which the command needs nothing
    own = profile.get(setting, "")
    if url and not is_named and _origin(url) != _origin(own):
        profile = {}
    credentials = _merged(
        HttpCredentials.of_environment(token), lambda key: profile.get(f"{HTTP}{key}", "")
    )
    values["at"] = HttpAddress(url or own, _with_options(credentials, options))


def _profile(name: object) -> Mapping[str, str]:
    from trio_kafka.cli.saved_profiles import default_profile  # noqa: PLC0415 - reads a file

    chosen = str(name) if name is not None else os.environ.get(PROFILE)
    return split_http(default_profile(chosen))[1]


def _merged(credentials: HttpCredentials, profile: Callable[[str], str]) -> HttpCredentials:
    """Return credentials; those of a profile only where the environment has none at all."""
    ca = credentials.ca or profile("ca")
    if credentials.token or credentials.user:
        return HttpCredentials(
            ca=ca, user=credentials.user, password=credentials.password, token=credentials.token
        )
    return HttpCredentials(
        ca=ca, user=profile("user"), password=profile("password"), token=profile("token")
    )


def _with_options(others: HttpCredentials, options: Mapping[str, str]) -> HttpCredentials:
    """Return credentials with those of options, which replace all others. Raises."""
    ca = options["ca"] or others.ca
    if options["token_file"]:
        if options["user"] or options["password_file"]:
            raise CommandFailedError("--token-file: give it, or --user, not both")
        return HttpCredentials(ca=ca, token=_line(options["token_file"]))
    if not options["user"]:
        if options["password_file"]:
            raise CommandFailedError("--password-file: whose? give --user NAME, too")
        return HttpCredentials(
            ca=ca, user=others.user, password=others.password, token=others.token
        )
    if options["password_file"]:
        password = _line(options["password_file"])
    elif options["user"] == others.user and others.password:
        password = others.password
    else:
        password = os.environ.get(PASSWORD) or _prompt_password(options["user"])
    return HttpCredentials(ca=ca, user=options["user"], password=password)


def _line(file: str) -> str:
    from trio_kafka.cli.passwords import first_line  # noqa: PLC0415 - rarely needed

    line = first_line(file)
    if not line:
        raise CommandFailedError(f"{file}: its first line is empty")
    return line


def _prompt_password(user: str) -> str:
    from trio_kafka.cli.passwords import ask  # noqa: PLC0415 - rarely needed

    return ask(user)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
