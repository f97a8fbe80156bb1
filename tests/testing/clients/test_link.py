"""A connection that is opened again, and attempts that are repeated."""

import pytest
import trio

from trio_kafka.errors import ErrorCode
from trio_kafka.peers.errors import PeerError
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.clients.errors import AnswerError, GaveUpError
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.simulate import simulate


def link_of(sim, **options):
    return Link(world=sim.clients, bootstrap=sim.lives.address, client_id="c", **options)


@simulate(seeds=2)
async def test_request_after_a_failure_has_a_new_connection(sim):
    link = link_of(sim)
    await link.ask(MetadataRequest(None), 12)

    await sim.kafka.kill()
    with pytest.raises(PeerError):
        await link.ask(MetadataRequest(None), 12)
    await sim.kafka.start()

    assert (await link.ask(MetadataRequest(None), 12)).brokers


@simulate(seeds=2)
async def test_request_to_a_stopped_machine_fails_within_its_timeout(sim):
    link = link_of(sim, request_s=2.0)
    await sim.lives.kill(power=True)
    begin = trio.current_time()

    with pytest.raises(PeerError):
        await link.ask(MetadataRequest(None), 12)

    assert trio.current_time() - begin <= 3.0


@simulate(seeds=1)
async def test_only_retriable_failures_are_retried(sim):
    link, said = link_of(sim), []

    async def attempt():
        said.append(trio.current_time())
        if len(said) < 4:
            raise AnswerError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(said) == 4:
            raise ConnectionResetError
        return "done"

    assert await link.retry(attempt, 60.0) == "done"
    assert said == sorted(set(said))

    async def refuse():
        raise AnswerError(ErrorCode.INVALID_REQUEST)

    with pytest.raises(AnswerError, match="INVALID_REQUEST"):
        await link.retry(refuse, 60.0)


@simulate(seeds=1)
async def test_retry_ends_after_its_time_with_the_last_failure(sim):
    async def attempt():
        raise AnswerError(ErrorCode.LEADER_NOT_AVAILABLE)

    with pytest.raises(GaveUpError, match=r"after 3.0 s; the last failure: LEADER_NOT_AVAILABLE"):
        await link_of(sim).retry(attempt, 3.0)
