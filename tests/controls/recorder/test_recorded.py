"""Conditions on recorded requests."""

from trio_kafka.controls.faults.parts import Names
from trio_kafka.controls.recorder.recorded import RecordedRequest, Selection
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest


def recorded(client_id: str = "c", *names: Names) -> RecordedRequest:
    return RecordedRequest(
        number=1,
        at_s=0.0,
        api="Heartbeat",
        key=12,
        version=0,
        correlation=1,
        client_id=client_id,
        client_length=1,
        principal="User:a",
        listener="PLAINTEXT",
        connection=1,
        kind=HeartbeatRequest,
        names=names,
        frame=b"",
    )


def test_requests_of_the_test_kit_are_selected_only_by_its_client_id() -> None:
    own = recorded(KIT_CLIENT)

    assert not Selection().takes(own)
    assert not Selection(client_id="*").takes(own)
    assert Selection(client_id=KIT_CLIENT).takes(own)


def test_request_is_selected_if_a_single_part_meets_all_conditions() -> None:
    request = recorded(
        "c", Names(topic="a", partition=0, group="g"), Names(topic="b", partition=1, group="g")
    )

    assert Selection(topic="a", partition=0, group="g").takes(request)
    assert not Selection(topic="a", partition=1).takes(request)
    assert Selection(partition=1).takes(request)
    assert request.topics == ["a", "b"]
