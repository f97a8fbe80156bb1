"""Blocking connections by address, to planes of this process on loopback."""

import socket
import threading
from functools import partial

import pytest
import trio

from tests.peers.test_blocking import LATE_S, echoing
from trio_kafka.errors import KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking_links import BlockingLinks
from trio_kafka.peers.errors import DamagedAnswerError, DeadlineError, PeerError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.sample_apis import EchoRequest
from trio_kafka.wire.server import small_answer


def links():
    return BlockingLinks(client_id="me", connect_s=LATE_S)


def ask(all_links, address, text="a", timeout_s=LATE_S):
    return all_links.ask(address, EchoRequest(text), timeout_s=timeout_s)


async def in_thread(function, *args, **kwargs):
    return await trio.to_thread.run_sync(partial(function, *args, **kwargs))


async def test_each_address_has_one_connection_which_is_used_again():
    async with echoing() as first, echoing() as second:
        all_links = links()
        for address in (first, second, first):
            assert (await in_thread(ask, all_links, address)).text == "me: a"
        assert all_links.connected == [second, first]
        all_links.close()
        all_links.close()
        assert all_links.connected == []


async def test_connection_that_its_peer_has_closed_gets_no_request():
    all_links = links()
    async with echoing() as address:
        await in_thread(ask, all_links, address)
    with pytest.raises(PeerError, match="connecting: Connection refused") as error:
        await in_thread(ask, all_links, address)
    assert not error.value.sent
    assert all_links.connected == []


def test_peer_that_is_not_there_is_an_error_of_a_request_that_was_not_sent():
    with pytest.raises(PeerError, match="connecting: Connection refused") as error:
        ask(links(), Endpoint(LOOPBACK, unused_port()))
    assert not error.value.sent


def test_name_that_cannot_be_looked_up_is_an_error_of_a_request_that_was_not_sent():
    for name in ("no-such-host.invalid", "a" * 70):
        with pytest.raises(PeerError, match="connecting: ") as error:
            ask(links(), Endpoint(name, 1))
        assert not error.value.sent


async def test_request_that_the_peer_lacks_leaves_the_connection_open():
    async with echoing() as address:
        all_links = links()
        with pytest.raises(KafkaError, match="UNSUPPORTED_VERSION"):
            await in_thread(all_links.ask, address, MetadataRequest(), timeout_s=LATE_S)
        assert all_links.connected == [address]
        all_links.close()


async def test_deadline_that_has_passed_sends_nothing():
    async with echoing() as address:
        all_links = links()
        with pytest.raises(DeadlineError) as error:
            await in_thread(ask, all_links, address, timeout_s=-1.0)
        assert not error.value.sent


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("is_open", [True, False])
def test_damaged_answer_or_none_says_if_the_request_was_sent_and_closes_the_connection(
    is_open, is_closed
):
    served = to_bytes(ApiVersionsResponse(api_keys=[ApiVersion(10100, 0, 1)]), 4)
    answers = [small_answer(1, served, flexible=False)] if is_open else []

    def answer():
        with listener.accept()[0] as client:
            for content in [*answers, b"" if is_closed else b"HTTP/1.1 400 Bad Request"]:
                client.recv(1000)
                client.sendall(content)

    expected = PeerError if is_closed else DamagedAnswerError
    with socket.create_server((LOOPBACK, 0)) as listener:
        peer = threading.Thread(target=answer)
        peer.start()
        all_links = links()
        with pytest.raises(expected) as error:
            ask(all_links, Endpoint(LOOPBACK, listener.getsockname()[1]))
        peer.join()
    assert error.value.sent is is_open
    assert all_links.connected == []
