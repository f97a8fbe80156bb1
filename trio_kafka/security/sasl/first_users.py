"""Users of a new cluster: `SCRAM-SHA-256=[name=ann,password=secret,iterations=8192]`.

Source: KIP-900; ScramParser of Apache Kafka 4.4.0.
"""

import re
from collections.abc import Callable
from typing import Final

from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.security.sasl.scram import (
    BY_NAME,
    credential_of,
    from_base64,
    printable_salt,
    salted_password,
)

_LINE: Final = re.compile(r"(?P<mechanism>[A-Z0-9-]+)=\[(?P<values>.*)\]", re.DOTALL)
# A value with commas is in quotes.
_VALUE: Final = re.compile(
    r'\s*(?P<name>[a-z]+)=(?:"(?P<quoted>[^"]*)"|(?P<bare>[^,"]*))\s*(?:,|$)'
)
_NAMES: Final = ("name", "password", "saltedpassword", "salt", "iterations")


def first_user(text: str, random_bytes: Callable[[int], bytes]) -> UserScramCredentialRecord:
    """Return the record of a user. Raises ValueError, which shows no secret."""
    match = _LINE.fullmatch(text.strip())
    mechanism = BY_NAME.get(match["mechanism"]) if match else None
    if match is None or mechanism is None:
        names = " or ".join(BY_NAME)
        raise ValueError(f"want {names}, then =[name=NAME,password=PASSWORD]")
    values = _values(match["values"])
    name, password = values.get("name"), values.get("password")
    if not name:
        raise ValueError("name is missing")
    salted = values.get("saltedpassword")
    if (password is None) == (salted is None) or not (password or salted):
        raise ValueError("want one of password and saltedpassword")
    if salted is not None and "salt" not in values:
        raise ValueError("saltedpassword needs its salt")
    iterations = _iterations(values.get("iterations", str(mechanism.fewest)))
    if not mechanism.fewest <= iterations <= mechanism.most:
        limits = f"{mechanism.fewest} to {mechanism.most}"
        raise ValueError(f"{iterations} iterations: want {limits}")
    try:
        text_of_salt = values.get("salt")
        salt = printable_salt(random_bytes) if text_of_salt is None else from_base64(text_of_salt)
        stretched = (
            salted_password(mechanism, password, salt=salt, iterations=iterations)
            if password is not None
            else from_base64(str(salted))
        )
    except ValueError:
        raise ValueError("salt and saltedpassword must be base64") from None
    credential = credential_of(mechanism, stretched, salt=salt, iterations=iterations)
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.number,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def _values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _VALUE.match(text, position)
        if match is None or match["name"] not in _NAMES:
            raise ValueError(f"want NAME=VALUE,... with {', '.join(_NAMES)}")
        if match["name"] in values:
            raise ValueError(f"{match['name']} is given twice")
        quoted = match["quoted"]
        values[match["name"]] = match["bare"] if quoted is None else quoted
        position = match.end()
    return values


def _iterations(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError("iterations is no number")
    return int(text)
