"""The packing room: packs each order, and commits what is packed."""

import json
import sys
from collections.abc import Callable

import trio

from trio_kafka.clients import PartitionStream, open_consumer

Stream = PartitionStream[bytes | None, bytes | None]


async def pack_orders(bootstrap: str, pack: Callable[[str, str], None]) -> None:
    """Pack orders, each partition in a task of its own, until cancelled."""
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "packing",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
    }

    async def pack_partition(stream: Stream) -> None:
        async for records in stream:
            for record in records:
                order = json.loads(record.value or b"{}")
                pack(order["customer"], order["item"])
            await stream.commit()

    async with open_consumer(config) as consumer:
        consumer.subscribe(["orders"])
        async with consumer.partitions() as streams:
            await streams.run(pack_partition)


if __name__ == "__main__":
    try:
        trio.run(pack_orders, sys.argv[1], print)
    except* KeyboardInterrupt:
        pass
