"""`trio-kafka decode`: one frame of hex, or a capture, as JSON."""

import sys
from argparse import ArgumentParser

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.decode.capture import decode_capture
from trio_kafka.cli.decode.frames import (
    RequestKind,
    api_key,
    read_request,
    read_response,
    strip_size,
)
from trio_kafka.cli.output import print_json, print_json_line


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "hex", nargs="?", metavar="HEX", help="a frame, with or without its length; - is the input"
    )
    parser.add_argument("--pcap", metavar="FILE", help="a capture that tcpdump has written")
    parser.add_argument(
        "--response",
        metavar="API:VERSION",
        help="HEX is a response to this API in this version: Fetch:12",
    )
    parser.add_argument("--port", type=int, metavar="PORT", help="with --pcap: port of the brokers")


def decode(*, hex: str | None, pcap: str | None, response: str | None, port: int | None) -> int:  # noqa: A002 - the name of the argument
    """Print a request, a response or a whole capture as JSON, by Kafka's message tables.

    Of a capture, each message is a line, with the time and the addresses.
    """
    if (hex is None) is (pcap is None):
        raise CommandFailedError("give HEX, or --pcap FILE")
    if pcap is not None:
        return _decode_capture(pcap, port)
    frame = strip_size(_frame(hex or ""))
    try:
        if response is None:
            document, _, _ = read_request(frame)
        else:
            document = read_response(frame, _kind(response))
    except ValueError as error:
        raise CommandFailedError(f"HEX: {error}", FAILED) from error
    print_json(document)
    return 0


def _decode_capture(path: str, port: int | None) -> int:
    """Print the messages of a capture; the status is 1 if one could not be read."""
    try:
        with open(path, "rb") as stream:
            capture = stream.read()
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}") from error
    status = 0
    try:
        for document in decode_capture(capture, port):
            print_json_line(document)
            if "error" in document:
                status = FAILED
    except ValueError as error:
        raise CommandFailedError(f"{path}: {error}", FAILED) from error
    return status


def _frame(text: str) -> bytes:
    if text == "-":
        text = sys.stdin.read()
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise CommandFailedError("HEX: want two hexadecimal digits for each byte") from error


def _kind(text: str) -> RequestKind:
    name, colon, version = text.rpartition(":")
    if not (colon and version.isdecimal()):
        raise CommandFailedError(f"--response {text}: want API:VERSION, such as Fetch:12")
    try:
        return RequestKind(key=api_key(name), version=int(version))
    except ValueError as error:
        raise CommandFailedError(f"--response {text}: {error}") from error
