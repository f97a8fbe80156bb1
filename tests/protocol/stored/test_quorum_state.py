import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.declared import instances
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.stored.quorum_state import (
    QuorumStateData,
    Voter,
    read_quorum_state,
    write_quorum_state,
)

# Files that Kafka 4.4 wrote.
OF_VERSION_0 = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}'
)
OF_VERSION_1 = (
    '{"leaderId":2,"leaderEpoch":4,"votedId":2,"votedDirectoryId":"8g5JtBWGjpsuajDO9s-AFg",'
    '"data_version":1}'
)


@pytest.mark.parametrize(("text", "version"), [(OF_VERSION_0, 0), (OF_VERSION_1, 1)])
def test_a_quorum_state_file_of_kafka_is_read_and_written_to_the_same_text(
    text: str, version: int
) -> None:
    assert write_quorum_state(read_quorum_state(text), version) == text


def test_quorum_state_files_are_read_into_the_expected_fields() -> None:
    assert read_quorum_state(OF_VERSION_0) == QuorumStateData(
        leader_id=1, leader_epoch=3, current_voters=[Voter(1)]
    )
    voted = bytes.fromhex("f20e49b415868e9b2e6a30cef6cf8016")
    assert read_quorum_state(OF_VERSION_1) == QuorumStateData(
        leader_id=2, leader_epoch=4, voted_id=2, voted_directory_id=voted
    )


@given(st.data(), st.sampled_from([0, 1]))
def test_every_quorum_state_survives_a_round_trip(draw: st.DataObject, version: int) -> None:
    state = draw.draw(instances(QuorumStateData, version, flexible=False))

    assert read_quorum_state(write_quorum_state(state, version)) == state


def test_a_vote_for_a_directory_needs_version_1() -> None:
    with pytest.raises(EncodeError, match="voted_directory_id"):
        write_quorum_state(QuorumStateData(voted_directory_id=b"x" * 16), 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"data_version":2}',
        '{"data_version":"0"}',
        '{"data_version":true}',
        '{"leaderId":true,"data_version":0}',
        '{"clusterId":1,"data_version":0}',
        '{"currentVoters":{},"data_version":0}',
        '{"currentVoters":[1],"data_version":0}',
        '{"currentVoters":[{"voterId":"1"}],"data_version":0}',
        '{"currentVoters":[{"voterId":1,"more":1}],"data_version":0}',
        '{"votedDirectoryId":"8g5J","data_version":1}',
        '{"leaderId":"1","data_version":0}',
        '{"leader":1,"data_version":0}',
        '{"leaderEpoch":2147483648,"data_version":0}',
        '{"appliedOffset":9223372036854775808,"data_version":0}',
        '{"currentVoters":[{"voterId":-2147483649}],"data_version":0}',
        pytest.param('{"leaderEpoch":%s}' % ("9" * 5000), id="number of 5000 digits"),
        pytest.param("[" * 200_000, id="nested arrays"),
        pytest.param('{"a":' * 200_000, id="nested objects"),
        OF_VERSION_1[:-1],
    ],
)
def test_a_malformed_quorum_state_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="quorum-state"):
        read_quorum_state(text)
