"""The file quorum-state."""

import pytest

from tests.raft.kit import DIRECTORY_ID, NODE_1, ROOT, STATIC, put_sample
from trio_kafka.errors import LogDirError
from trio_kafka.log.files.checkpoints import read_file, replace_file
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.raft.quorum_state import NAME, load_election, load_voters, save_election
from trio_kafka.raft.values import Election
from trio_kafka.raft.voters import Voter, VoterSet


@pytest.mark.parametrize("voters", [STATIC, VoterSet(1, (Voter(NODE_1, DIRECTORY_ID),))])
async def test_saved_election_is_loaded_unchanged(world, autojump_clock, voters: VoterSet) -> None:
    directory = world.directory(ROOT, create=True)

    for election in (Election(3, NODE_1, NO_NODE), Election(4, NO_NODE, NODE_1)):
        await save_election(directory, election, voters)
        assert await load_election(directory) == election


async def test_file_of_static_voters_is_that_of_kafka_byte_for_byte(world, autojump_clock) -> None:
    await put_sample(world, "cluster_metadata")
    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    kafkas = await read_file(directory, NAME)

    election = await load_election(directory)
    await save_election(directory, election, STATIC)

    assert election == Election(3, NODE_1, NO_NODE)
    assert await read_file(directory, NAME) == kafkas


async def test_voters_are_read_from_the_file_only_for_kraft_version_0(
    world, autojump_clock
) -> None:
    directory = world.directory(ROOT, create=True)
    assert await load_voters(directory) is None

    await save_election(directory, Election(3, NODE_1, NO_NODE), STATIC)
    assert await load_voters(directory) == STATIC

    await save_election(directory, Election(3, NODE_1, NO_NODE), VoterSet(1, (Voter(NODE_1),)))
    assert await load_voters(directory) is None


async def test_file_of_dynamic_voters_is_that_of_kafka_byte_for_byte(world, autojump_clock) -> None:
    await put_sample(world, "dynamic_quorum")
    directory = world.directory(ROOT).directory("__cluster_metadata-0")
    kafkas = await read_file(directory, NAME)
    two = NodeId(2)
    voted = parse_id("8g5JtBWGjpsuajDO9s-AFg")

    election = await load_election(directory)
    await save_election(directory, election, VoterSet(1, (Voter(two, voted),)))

    assert election == Election(4, two, two)
    assert await read_file(directory, NAME) == kafkas


async def test_missing_file_gives_an_empty_election(world, autojump_clock) -> None:
    assert await load_election(world.directory(ROOT, create=True)) == Election()


async def test_damaged_quorum_state_file_is_an_error_of_its_log_directory(
    world, autojump_clock
) -> None:
    directory = world.directory(ROOT, create=True)
    await replace_file(directory, NAME, b'{"leaderId":1')

    with pytest.raises(LogDirError, match="quorum-state"):
        await load_election(directory)


@pytest.mark.parametrize("epoch", [-1, (1 << 31) - 1])
async def test_negative_or_largest_epoch_in_the_file_is_refused(
    world, autojump_clock, epoch: int
) -> None:
    directory = world.directory(ROOT, create=True)
    await save_election(directory, Election(epoch, NODE_1, NO_NODE), STATIC)

    with pytest.raises(LogDirError, match=f"quorum-state: epoch {epoch}, want 0 to 2147483646"):
        await load_election(directory)
