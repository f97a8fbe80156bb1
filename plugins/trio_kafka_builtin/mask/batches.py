"""Masked batches of a Fetch response, within the client's limits."""

from trio_kafka.log.decompression import Decompression
from trio_kafka.plugin_host.changed_batches import changed_batch
from trio_kafka.records.header import iterate_headers
from trio_kafka.records.values import Change
from trio_kafka.world.world import World


async def masked_batches(
    data: bytes,
    change: Change,
    *,
    world: World,
    decompression: Decompression,
    most: int,
    at_least_one: bool,
) -> tuple[list[bytes], Exception | None]:
    """Return the whole batches of `data`, masked, up to `most` bytes; a partial one is dropped.

    at_least_one: return the first whatever its size. The error is that of the first batch that
    could not be masked, and the batches before it are returned: KafkaError(CORRUPT_MESSAGE), or
    what `change` raises.
    """
    batches: list[bytes] = []
    size = 0
    view = memoryview(data)
    for position, header in iterate_headers(data):
        batch = view[position : position + header.size]
        if size and size + header.size // 2 > most:
            break  # masking rarely halves a batch: not worth the work
        try:
            masked = bytes(
                await changed_batch(batch, header, change, world=world, decompression=decompression)
            )
        except Exception as error:  # noqa: BLE001 - the caller judges the error of this batch
            return batches, error
        if size + len(masked) > most and not (at_least_one and not batches):
            break
        batches.append(masked)
        size += len(masked)
    return batches, None
