"""The line of `sasl.jaas.config`: a login module, a control flag and options.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";

Source: Java's JAAS configuration syntax, as Kafka reads it (a StreamTokenizer): words, quoted
strings with backslash escapes, comments of C++ and Java, exactly one entry with a semicolon at its
end. No error quotes what stands in the line: it holds passwords.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.sasl_names import MODULES, SCRAM

HIDDEN: Final = "[hidden]"
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | "(?P<double>(?:[^"\\\n]|\\.)*)"
      | '(?P<single>(?:[^'\\\n]|\\.)*)'
      | (?P<mark>[=;])
      | (?P<word>[^\s=;"'/]+(?:/(?![/*])[^\s=;"'/]*)*)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
}
_PACKAGES: Final = {
    "PlainLoginModule": "org.apache.kafka.common.security.plain",
    "ScramLoginModule": "org.apache.kafka.common.security.scram",
    "OAuthBearerLoginModule": "org.apache.kafka.common.security.oauthbearer",
}
_KERBEROS: Final = "Krb5LoginModule"


class JaasError(ValueError):
    """A line that is malformed, or names no login module that is known here."""


@frozen
class Login:
    """A parsed line: the module's plain class name, and its options."""

    module: str
    options: Mapping[str, str] = field(repr=lambda _: HIDDEN)

    def need(self, name: str) -> str:
        """Return the value of a login option. Raises JaasError if it is missing."""
        value = self.options.get(name)
        if value is None:
            raise JaasError(f'{self.module} needs {name}="..."')
        return value


def parse_jaas(line: str) -> Login:
    """Return the one entry of a line. Raises JaasError, which quotes only the module's name."""
    tokens = list(_tokens(line))
    if not tokens:
        raise JaasError("is empty: want MODULE required NAME=VALUE ...;")
    (_, module), *rest = tokens
    name = _module(module)
    if not rest or rest[0][1].lower() not in _FLAGS:
        raise JaasError(f"no control flag follows {name}: want one of {_FLAGS}")
    options: dict[str, str] = {}
    position = 1
    while position < len(rest) and rest[position] != ("mark", ";"):
        kinds = tuple(kind for kind, _ in rest[position : position + 3])
        if kinds[:1] != ("word",) or rest[position + 1 : position + 2] != [("mark", "=")]:
            raise JaasError(f"option {len(options) + 1} of {name} is not NAME=VALUE")
        if len(kinds) < 3 or kinds[2] == "mark":
            raise JaasError(f"option {len(options) + 1} of {name} has no value")
        options[rest[position][1]] = rest[position + 2][1]
        position += 3
    if position >= len(rest):
        raise JaasError(f"no semicolon ends the entry of {name}")
    if position + 1 < len(rest):
        raise JaasError(f"more stands behind the entry of {name}: want one entry")
    return Login(name, options)


def login_line(mechanism: str, username: str, password: str) -> str:
    """Return the line of a client that logs in by PLAIN, or by SCRAM."""
    return login_module(mechanism, {"username": username, "password": password})


def login_module(mechanism: str, options: Mapping[str, str]) -> str:
    """Return the line of a mechanism's login module. Values may be any text of one line."""
    name = MODULES.get(mechanism, MODULES[SCRAM[0]])
    pairs = (
        '{}="{}"'.format(option, value.replace("\\", "\\\\").replace('"', '\\"'))
        for option, value in options.items()
    )
    return f"{' '.join([f'{_PACKAGES[name]}.{name} required', *pairs])};"


def _module(module: str) -> str:
    """Return the plain name of a login module that is known."""
    package, _, name = module.rpartition(".")
    if name == _KERBEROS:
        raise JaasError(f"{name} (Kerberos) is not supported: want one of {_module_names()}")
    if not re.fullmatch(r"[A-Za-z_$][\w$]*", name) or _PACKAGES.get(name) != package:
        raise JaasError(f"begins with no known login module: want one of {_module_names()}")
    return name


def _module_names() -> str:
    return ", ".join(f"{package}.{name}" for name, package in _PACKAGES.items())


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None:
            raise JaasError(f"character {position + 1} begins a string that never ends")
        position = match.end()
        kind = match.lastgroup or ""
        if kind in ("double", "single"):
            yield "string", _ESCAPE.sub(_unescape, match[kind])
        elif kind != "blank":
            yield kind, match[kind]


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPES.get(escaped, escaped)
