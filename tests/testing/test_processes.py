import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from trio_kafka.testing.processes import (
    ProcessError,
    ask_api_versions,
    broker_process,
    trio_kafka_command,
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


def test_broker_process_answers_in_its_block_and_is_stopped_at_the_end(tmp_path: Path) -> None:
    with broker_process(tmp_path, command=serving(refusals=3, signals="handled")) as broker:
        assert ask_api_versions(broker.address) == {0: (3, 13), 18: (0, 5)}
        assert broker.bootstrap == f"127.0.0.1:{broker.address[1]}"
        assert broker.process.poll() is None
        assert broker.start_s > 0

    assert broker.process.returncode == 7
    with pytest.raises(ConnectionRefusedError):
        ask_api_versions(broker.address)


def test_command_gets_the_settings_and_its_output_is_kept(tmp_path: Path) -> None:
    with broker_process(tmp_path, "a=1", "b=2", command=serving()) as broker:
        pass

    assert broker.log.read_text() == f"serving {tmp_path} a=1 b=2\n"
    assert broker.data == tmp_path / "data"
    assert broker.data.is_dir()


def test_process_that_ends_before_its_start_is_reported_with_its_output(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", "import sys; print('no such setting'); sys.exit(3)"]

    with (
        pytest.raises(ProcessError, match=r"(?s)ended with status 3.*no such setting"),
        broker_process(tmp_path, command=lambda *_: command),
    ):
        raise AssertionError("not reached")


def test_process_that_does_not_answer_in_time_is_an_error(tmp_path: Path) -> None:
    silent = [sys.executable, "-c", "import time; time.sleep(60)"]

    with (
        pytest.raises(ProcessError, match=r"did not answer within 0\.3 s"),
        broker_process(tmp_path, command=lambda *_: silent, start_timeout_s=0.3),
    ):
        raise AssertionError("not reached")


def test_error_response_to_api_versions_fails_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="error 35"),
        broker_process(tmp_path, command=serving(ERROR_35)),
    ):
        raise AssertionError("not reached")


def test_process_that_ignores_sigterm_is_killed_and_reported(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"did not stop in 0\.2 s"), ExitStack() as stack:
        broker = stack.enter_context(
            broker_process(tmp_path, command=serving(signals="ignored"), stop_timeout_s=0.2)
        )

    assert broker.process.returncode == -9


def test_command_of_trio_kafka_names_listener_and_directory_and_formats_if_empty(
    tmp_path: Path,
) -> None:
    words = trio_kafka_command(1234, tmp_path, ["num.partitions=3"])

    assert words[:4] == [sys.executable, "-m", "trio_kafka", "start"]
    assert "listeners=PLAINTEXT://127.0.0.1:1234" in words
    assert f"log.dirs={tmp_path}" in words
    assert words[words.index("num.partitions=3") - 1] == "-c"
    assert words[-1] == "--format-if-empty"
