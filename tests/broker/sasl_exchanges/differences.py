"""Exchanges that this broker answers in another way than Apache Kafka, with the reasons.

docs/reference/differences.md says the same to users.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

DELAYED: Final = "closed after the delay"
Lines = Mapping[str, Sequence[str]]
FAILED: Final = "failed-authentication-total"
NOT_RENEWED: Final = "failed-reauthentication-total"


@frozen(kw_only=True)
class Difference:
    """Cases whose ends differ.

    cases: a pattern of their names. ours: patterns of the last lines of this broker, without bytes.
    counted: by how much the counter `counter` of failed logins exceeds Kafka's, for each case.
    """

    cases: str
    ours: Sequence[str]
    reason: str
    counted: int = 0
    counter: str = FAILED

    def explains(self, name: str, lines: Sequence[str], theirs: Sequence[str]) -> bool:
        """Return whether the lines of a case are as expected, and those before as Kafka's."""
        same = len(lines) - len(self.ours)
        return (
            re.fullmatch(self.cases, name) is not None
            and list(lines[:same]) == list(theirs[:same])
            and all(map(re.fullmatch, self.ours, map(_without_bytes, lines[same:])))
        )


def _without_bytes(line: str) -> str:
    """The line of the record without the answer in hexadecimal."""
    return re.sub(r"(<(?: after the delay)?) [0-9a-f]{8,}(?:… \d+ bytes)? ", r"\1 ", line.strip())


def _failed(message: str) -> tuple[str, str]:
    answer = rf"SaslAuthenticateResponse\(error_code=58, error_message={message}\)"
    return f"< after the delay SASL_AUTHENTICATION_FAILED {answer}", "closed"


_INVALID: Final = _failed(
    "'Authentication failed during authentication due to invalid credentials with SASL"
    r" mechanism [-A-Z0-9]+'"
)

DIFFERENCES: Final = (
    Difference(
        cases=r"SCRAM-SHA-\d+, first message: an unknown (?:user|delegation token)",
        ours=(r"< NONE SaslAuthenticateResponse\(auth_bytes=<77 bytes>\)", "open"),
        reason="an unknown user fails as a wrong password does, at the second message",
        counted=-1,
    ),
    Difference(
        cases=r"SCRAM-SHA-\d+, first message: another authorization id and an unknown user",
        ours=_failed(
            "\"?'?Authentication failed: Client requested an authorization id that is different"
            " from username'?\"?"
        ),
        reason="an unknown user is answered as a known one",
    ),
    Difference(
        cases=r"SCRAM-SHA-\d+ of ann with wrong, bare tokens|bare tokens of SCRAM.*: malformed",
        ours=(DELAYED,),
        reason="the delay slows down a client that tries passwords; Kafka closes at once",
        counted=1,
    ),
    Difference(
        cases=r"SCRAM-SHA-\d+, final message: (?:an empty|a short|a long) proof",
        ours=_INVALID,
        reason="a proof of another length is a wrong one; Kafka closes without an answer",
        counted=1,
    ),
    Difference(
        cases="unsigned token: without an algorithm",
        ours=(
            r"< NONE SaslAuthenticateResponse\(auth_bytes=<26 bytes>\)",
            "> 000000110024000200000007000372617700020100",
            *_failed('\'{"status":"invalid_token"}\''),
        ),
        reason="such a token is an invalid one; Kafka closes without an answer",
        counted=1,
    ),
    Difference(
        cases="OAUTHBEARER message: another scheme",
        ours=_INVALID,
        reason="such a message is a malformed one; Kafka closes without an answer",
        counted=1,
    ),
    Difference(
        cases="(?:Metadata|Produce) in the middle of an exchange|renewal: with Metadata after .*",
        ours=(DELAYED,),
        reason="only requests of the SASL phase are answered; Kafka answers each API",
    ),
    Difference(
        cases="(?:key -?[0-9]+|Metadata in an unknown version) in the middle of an exchange"
        "|frame of zeros in the middle of an exchange|a bare token after handshake 1",
        ours=(DELAYED,),
        reason="fails as each other request does; Kafka closes at once",
        counted=1,
    ),
    Difference(
        cases="renewal: by another user|session that ends: a renewal by another user after its end",
        ours=_failed("'Cannot change principals during re-authentication'"),
        reason="the error does not name the users",
    ),
    Difference(
        cases="renewal: by another mechanism",
        ours=_failed(
            "\"SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for"
            " re-authentication of mechanism 'PLAIN'\""
        ),
        reason="the client learns the reason; Kafka closes without an answer",
    ),
    Difference(
        cases="renewal: by an unknown mechanism",
        ours=(
            r"< after the delay UNSUPPORTED_SASL_MECHANISM SaslHandshakeResponse\(.*PLAIN.*\)",
            "closed",
        ),
        reason="the client learns the reason; Kafka closes without an answer",
        counted=1,
        counter=NOT_RENEWED,
    ),
)


def unexplained(ours: Lines, theirs: Lines, listeners: Mapping[str, str]) -> dict[str, object]:
    """Return the lines of both where they differ without a reason. listeners: by case."""
    counted = Counter[tuple[str, str]]()
    unknown: dict[str, object] = {}
    for name, listener in listeners.items():
        if ours[name] == theirs[name]:
            continue
        for each in DIFFERENCES:
            if each.explains(name, ours[name], theirs[name]):
                counted[listener, each.counter] += each.counted
                break
        else:
            unknown[name] = {"ours": ours[name], "theirs": theirs[name]}
    for name in theirs.keys() - listeners.keys():
        expected = [_counted(name, line, counted) for line in theirs[name]]
        if ours[name] != expected:
            unknown[name] = {"ours": ours[name], "expected": expected}
    return unknown


def _counted(name: str, line: str, counted: Mapping[tuple[str, str], int]) -> str:
    """A counter of Kafka's with what this broker counts more."""
    counter, value = line.split()
    return f"  {counter} {int(value) + counted[name.rsplit(maxsplit=1)[-1], counter]}"


def outdated(ours: Lines, theirs: Lines) -> list[str]:
    """Return the differences that are none, or are those of no case."""
    differ = [name for name, lines in ours.items() if lines != theirs[name]]
    return [
        each.cases
        for each in DIFFERENCES
        if not any(re.fullmatch(each.cases, name) for name in differ)
    ]
