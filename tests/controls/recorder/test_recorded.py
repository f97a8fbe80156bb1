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


def test_the_kits_own_requests_are_for_a_condition_that_names_it() -> None:
    own = recorded(KIT_CLIENT)

    assert not Selection().takes(own)
    assert not Selection(client_id="*").takes(own)
    assert Selection(client_id=KIT_CLIENT).takes(own)


def test_all_conditions_hold_for_one_part() -> None:
    one = recorded("c", Names("a", 0, "g"), Names("b", 1, "g"))

    assert Selection(topic="a", partition=0, group="g").takes(one)
    assert not Selection(topic="a", partition=1).takes(one)
    assert Selection(partition=1).takes(one)
    assert one.topics == ["a", "b"]
