import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from trio_kafka.testing.processes import (
    ProcessError,
    ask_api_versions,
    broker_process,
    trio_kafka_command,
    unused_port,
)

pytestmark = pytest.mark.slow

# The least that can be taken for a broker: closes some connections, then answers all requests.
SERVER = """
import os, signal, socket, sys
port, refusals, answer = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])
signals = sys.argv[4]
if signals == "ignored":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if signals == "handled":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("serving", os.getcwd(), *sys.argv[5:], flush=True)
listener = socket.create_server(("127.0.0.1", port))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(100)
        if refusals:
            refusals -= 1
            continue
        connection.sendall(answer)
"""
VERSIONS = "00000016 00000001 0000 00000002 0000 0003 000d 0012 0000 0005"
ERROR_35 = "0000000a 00000001 0023 00000000"


def serving(answer: str = VERSIONS, refusals: int = 0, signals: str = "default"):
    def command(port, data, settings):
        words = [str(port), str(refusals), answer, signals, *settings]
        return [sys.executable, "-c", SERVER, *words]

    return command


def test_a_broker_is_ready_when_it_answers_and_gone_when_the_block_ends(tmp_path: Path) -> None:
    with broker_process(tmp_path, command=serving(refusals=3, signals="handled")) as broker:
        assert ask_api_versions(broker.address) == {0: (3, 13), 18: (0, 5)}
        assert broker.bootstrap == f"127.0.0.1:{broker.address[1]}"
        assert broker.process.poll() is None
        assert broker.start_s > 0

    assert broker.process.returncode == 7
    with pytest.raises(ConnectionRefusedError):
        ask_api_versions(broker.address)


def test_settings_reach_the_command_and_what_it_prints_is_kept(tmp_path: Path) -> None:
    with broker_process(tmp_path, "a=1", "b=2", command=serving()) as broker:
        pass

    assert broker.log.read_text() == f"serving {tmp_path} a=1 b=2\n"
    assert broker.data == tmp_path / "data"
    assert broker.data.is_dir()


def test_a_process_that_ends_before_it_answers_is_reported_with_its_last_words(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", "import sys; print('no such setting'); sys.exit(3)"]

    with (
        pytest.raises(ProcessError, match=r"(?s)ended with status 3.*no such setting"),
        broker_process(tmp_path, command=lambda *_: command),
    ):
        raise AssertionError("not reached")


def test_a_process_that_answers_nothing_is_given_up_and_killed(tmp_path: Path) -> None:
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]

    with (
        pytest.raises(ProcessError, match=r"did not answer within 0\.3 s"),
        broker_process(tmp_path, command=lambda *_: silent, start_timeout_s=0.3),
    ):
        raise AssertionError("not reached")


def test_an_error_as_the_answer_is_no_start(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="error 35"),
        broker_process(tmp_path, command=serving(ERROR_35)),
    ):
        raise AssertionError("not reached")


def test_a_process_that_ignores_its_signal_is_killed_and_reported(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"did not stop in 0\.2 s"), ExitStack() as stack:
        broker = stack.enter_context(
            broker_process(tmp_path, command=serving(signals="ignored"), stop_timeout_s=0.2)
        )

    assert broker.process.returncode == -9


def test_an_unused_port_can_be_bound() -> None:
    with socket.create_server(("127.0.0.1", unused_port())) as listener:
        assert listener.getsockname()[1] > 0


def test_our_own_command_says_where_and_formats_what_is_empty(tmp_path: Path) -> None:
    words = trio_kafka_command(1234, tmp_path, ["num.partitions=3"])

    assert words[:4] == [sys.executable, "-m", "trio_kafka", "start"]
    assert "listeners=PLAINTEXT://127.0.0.1:1234" in words
    assert f"log.dirs={tmp_path}" in words
    assert words[words.index("num.partitions=3") - 1] == "-c"
    assert words[-1] == "--format-if-empty"
