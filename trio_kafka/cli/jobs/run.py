"""`trio-kafka jobs run`: run a periodic job of a broker now."""

from argparse import ArgumentParser
from typing import Final

from trio_kafka.cli import FAILED
from trio_kafka.cli.broker_client import parse_address, send_request
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest
from trio_kafka.protocol.texts import printable

UNKNOWN: Final = "the server has no API RunJob: only a trio-kafka broker has it; update the broker"
_LONG_S: Final = 60.0


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the job, as `trio-kafka jobs list` shows it")
    declare_broker(parser, _LONG_S)
    declare_json(parser, "one JSON object: `name`, `took_s`, `error`")


def run(*, name: str, bootstrap: str, json: bool, timeout: float) -> int:
    """Run a periodic job of a broker now, and wait for its end. Its next run is due when it was.

    Ends with 1 if the job failed. Needs ALTER on the cluster; without an authorizer the command
    must run on the broker's machine.
    """
    address = parse_address(bootstrap)
    answer = send_request(RunJobRequest(name), address, timeout, unknown=UNKNOWN)
    if json:
        print_json({"name": name, "took_s": answer.took_s, "error": answer.job_error})
    elif answer.job_error is None:
        print(f"job {name}: done in {answer.took_s:.3f} s")
    else:
        print(f"job {name}: failed after {answer.took_s:.3f} s: {printable(answer.job_error)}")
    return 0 if answer.job_error is None else FAILED
