"""Messages of captured connections."""

from tests.cli.decode.test_frames import HEARTBEAT
from tests.cli.decode.test_pcap import capture, ipv4, tcp
from trio_kafka.cli.decode.capture import decode_capture
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatResponse

REQUEST = len(HEARTBEAT).to_bytes(4, "big") + HEARTBEAT
ANSWER = b"\0\0\0\7" + to_bytes(HeartbeatResponse(error_code=27), 0)
RESPONSE = len(ANSWER).to_bytes(4, "big") + ANSWER


def packets(*parts: tuple[bool, int, bytes]) -> bytes:
    """A capture: from the client?, sequence number, bytes."""
    return capture(
        *(
            ipv4(tcp(5000, 9092, at, data) if asks else tcp(9092, 5000, at, data))
            for asks, at, data in parts
        )
    )


def test_request_in_two_packets_and_its_response_are_decoded():
    data = packets((True, 1, REQUEST[:9]), (True, 10, REQUEST[9:]), (False, 1, RESPONSE))

    request, response = decode_capture(data)

    assert (request["api"], request["from"], request["time_ms"]) == (
        "Heartbeat",
        "127.0.0.1:5000",
        1500,
    )
    assert response["response"] == {"throttle_time_ms": 0, "error_code": 27}


def test_response_without_its_request_is_noted():
    (note,) = decode_capture(packets((False, 1, RESPONSE)), 9092)

    assert note["note"] == "its request is not captured"


def test_flow_that_is_not_kafkas_ends_with_one_error():
    tls = b"\x16\x03\x01\x02\x00" + bytes(20)

    (error,) = decode_capture(packets((True, 1, tls), (True, 26, tls)))

    assert "not Kafka's protocol, or TLS" in error["error"]


def test_other_ports_are_left_out():
    assert list(decode_capture(packets((True, 1, REQUEST)), 9093)) == []
