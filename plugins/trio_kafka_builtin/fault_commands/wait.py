"""`trio-kafka fault wait`: wait until a rule has had some hits."""

from argparse import ArgumentParser

from trio_kafka_builtin.fault_commands.client import ask, declare_address, show

_MORE_S = 10.0  # the broker ends the wait, not the client


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the rule")
    parser.add_argument("--hits", type=int, default=1, help="hits to wait for (%(default)s)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="longest wait (%(default)g); the exit status is 1 afterwards",
    )
    declare_address(parser)


def wait(*, name: str, hits: int, timeout: float, at: str | None, json: bool) -> int:
    """Wait until a rule has had some hits, since it was added.

    Returns at once if it has had them already.
    """
    body = {"hits": hits, "timeout_s": timeout}
    rule = ask(at, "POST", name, "wait", body=body, timeout_s=timeout + _MORE_S)
    show([rule], as_json=json)
    return 0
