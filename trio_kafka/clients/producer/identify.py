"""Task that asks for a producer id, when the producer begins and when its id is lost."""

from typing import NoReturn

import trio

from trio_kafka.clients.errors import ClientError, FatalError, RetriableError, error_of
from trio_kafka.clients.producer.sender import Sender
from trio_kafka.clients.producer.sequences import Identity
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest


async def identify(sender: Sender) -> NoReturn:
    """Ask for a producer id whenever the sender wants one, until cancelled.

    Repeats the request until a broker answers it. An answer that says that there will be none fails
    all batches.
    """
    identities = sender.accumulator.identities
    failures = 0
    while True:
        await sender.wants_identity.wait()
        if (
            identities is None
            or identities.current is not None
            or sender.delivery.fatal is not None
        ):
            sender.wants_identity = trio.Event()
            failures = 0
            continue
        try:
            identities.current = await _ask(sender)
        except FatalError as error:
            sender.delivery.fail_all(error)
        except ClientError:
            failures += 1
            chance = sender.client.world.random.random()
            await trio.sleep(sender.settings.retry_backoff.pause_s(failures, chance))
        sender.wake()


async def _ask(sender: Sender) -> Identity:
    """Ask any broker. Raises ClientError; FatalError if the answer is final."""
    client = sender.client
    node = client.links.least_loaded(client.metadata.cache.brokers, trio.current_time())
    if node is None:
        await trio.lowlevel.checkpoint()
        raise RetriableError("no broker is known that can be asked for a producer id")
    answer = await client.links[node].ask(
        InitProducerIdRequest(None, 0x7FFFFFFF), timeout_s=sender.settings.request_timeout_s
    )
    code = error_of(answer.error_code)
    if code is ErrorCode.NONE:
        return Identity(answer.producer_id, answer.producer_epoch)
    kind = RetriableError if code.retriable else FatalError
    raise kind("no producer id", place=client.links[node].place, code=code)
