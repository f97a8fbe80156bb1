"""HTTP client of the test controls, and how commands show what they get."""

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote
from urllib.request import Request

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.cluster_address import HTTP_TESTING_URL
from trio_kafka.cli.http_address import declare_http
from trio_kafka.cli.http_client import sent
from trio_kafka.cli.output import LEFT, RIGHT, columns, print_json
from trio_kafka.strict_json import dump_json, parse_json

ADDRESS: Final = "TRIO_KAFKA_TESTING"
TOKEN: Final = "TRIO_KAFKA_TESTING_TOKEN"  # noqa: S105 - the name of a variable
_COUNTS: Final = ("seen", "hits", "held")
_TIMEOUT_S: Final = 30.0
_NO_ADDRESS: Final = (
    f"no address: give --at URL or set {ADDRESS} to the `testing` address that"
    " `trio-kafka start --testing` prints"
)


class ControlError(CommandFailedError):
    """Request that the broker rejected, or that did not reach it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, FAILED)


def declare_address(parser: ArgumentParser) -> None:
    """Declare the options with the test controls, and `--json`."""
    declare_http(
        parser,
        "address of the test controls",
        variable=ADDRESS,
        setting=HTTP_TESTING_URL,
        token=TOKEN,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def ask(
    at: str | None, method: str, *path: str, body: object = None, timeout_s: float = _TIMEOUT_S
) -> Any:
    """Send a request to the control `faults`, and return the body of the response.

    Raises ControlError.
    """
    if not at:
        raise ControlError(_NO_ADDRESS)
    url = "/".join([at.rstrip("/"), "faults", *(quote(word, safe="") for word in path)])
    data = None if body is None else dump_json(body).encode()
    headers = {"Content-Type": "application/json"}
    request = Request(url, data, headers, method=method)  # noqa: S310 - checked by sent
    try:
        with sent(at, request, timeout_s) as response:
            text = response.read()
    except CommandFailedError as error:
        raise ControlError(str(error)) from error
    try:
        return parse_json(text) if text else None
    except ValueError as error:
        raise ControlError(f"{at}: the answer is not JSON ({error}); is this a broker?") from None


def show(rules: Iterable[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print rules with their counts, as a table or as JSON."""
    shown = list(rules)
    if as_json:
        print_json({"rules": shown})
        return
    rows = [
        [rule["name"], *(str(rule[count]) for count in _COUNTS), _described(rule)] for rule in shown
    ]
    sides = (LEFT, *(RIGHT for _ in _COUNTS), LEFT)
    for line in columns(["NAME", *map(str.upper, _COUNTS), "RULE"], rows, sides):
        print(line)


def _described(rule: Mapping[str, object]) -> str:
    parts = {name: value for name, value in rule.items() if name not in ("name", *_COUNTS)}
    return " ".join(f"{name}={_word(value)}" for name, value in parts.items())


def _word(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value, compact=True)
