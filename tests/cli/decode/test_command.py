"""`trio-kafka decode`."""

import json

import pytest

from tests.cli.decode.test_capture import REQUEST, RESPONSE, packets
from trio_kafka.cli import main


def test_frame_of_hex_is_printed_as_json(capsys):
    assert main(["decode", REQUEST.hex()]) == 0
    assert json.loads(capsys.readouterr().out)["request"]["group_id"] == "g"

    assert main(["decode", RESPONSE.hex(" "), "--response", "Heartbeat:0"]) == 0
    assert json.loads(capsys.readouterr().out)["response"]["error_code"] == 27


def test_capture_is_printed_line_by_line(tmp_path, capsys):
    path = tmp_path / "c.pcap"
    path.write_bytes(packets((True, 1, REQUEST), (False, 1, RESPONSE)))

    assert main(["decode", "--pcap", str(path)]) == 0

    assert [json.loads(line)["key"] for line in capsys.readouterr().out.splitlines()] == [12, 12]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["xy"], 2, "two hexadecimal digits"),
        (["00"], 1, "HEX: 1 bytes: want at least 8"),
        (["00", "--response", "Fetch"], 2, "want API:VERSION"),
        (["00", "--response", "Fesch:1"], 2, "no API has the name"),
        (["00", "--response", "Fetch:12"], 1, "HEX: "),
        (["--pcap", "/no/such"], 2, "/no/such: No such file"),
        (["--pcap", "/dev/null"], 1, "/dev/null: not a pcap file"),
    ],
)
def test_wrong_input_is_one_line(capsys, arguments, status, words):
    assert main(["decode", *arguments]) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
