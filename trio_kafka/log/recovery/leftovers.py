"""Files that a crash has left in the directory of a partition: swap, temporary and old ones."""

from collections.abc import Collection
from typing import Final

from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.files.names import (
    DELETED,
    INDEX,
    INDEX_FILES,
    LOG,
    SEGMENT_FILES,
    SWAP,
    offset_file,
    offsets_of,
    parse_offset_file,
)
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads
from trio_kafka.log.scan.walk import BULK, walk
from trio_kafka.log.segment_file import unlink_segment
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import Directory

_UNFINISHED: Final = (DELETED, ".cleaned", ".tmp", SWAP)
_LOG_SWAP: Final = LOG + SWAP
_logger: Final = get_logger(__name__)


async def finish_swaps(directory: Directory, files: OpenFiles) -> None:
    """Put segments that the cleaner had finished in place of those that they replace.

    The replaced segments are removed first, durably: after a crash in between the swap file is
    found again. OSError.
    """
    for name in [name for name in await names_in(directory) if name.endswith(_LOG_SWAP)]:
        swapped = parse_offset_file(name.removesuffix(SWAP))
        if swapped is None:
            continue
        base_offset = swapped[0]
        last = [base_offset]
        file = files.open(directory, name)

        def see(position: int, header: BatchHeader, last: list[int] = last) -> None:
            del position
            last[0] = header.last_offset

        try:
            if file.size:
                whole = await run_in_threads(walk(file, 0, see, chunk=BULK)) == file.size
            else:  # no record of the segment was left; its index has got its name before
                whole = directory.exists(offset_file(base_offset, INDEX) + SWAP)
        finally:
            file.close()
        if not whole and directory.exists(name.removesuffix(SWAP)):
            # It was synced before it got this name. Keep the segment that it would replace.
            path = f"{directory.path}/{name}"
            _logger.warning("damaged swap file removed", path=path)
            continue  # `clear_leftovers` removes it
        for other in await names_in(directory):
            parsed = parse_offset_file(other)
            if parsed and parsed[1] in SEGMENT_FILES and base_offset <= parsed[0] <= last[0]:
                await directory.unlink(other)
        await sync_names(directory)
        for suffix in INDEX_FILES:
            index = offset_file(base_offset, suffix)
            if directory.exists(index + SWAP):
                directory.rename(index + SWAP, index)
        await sync_names(directory)
        directory.rename(name, name.removesuffix(SWAP))
        await sync_names(directory)


async def clear_leftovers(
    directory: Directory, names: Collection[str], start_offset: int
) -> list[int]:
    """Remove unfinished files, and the segments below the start offset.

    Returns the base offsets of the segments that remain. OSError.
    """
    for name in names:
        if name.endswith(_UNFINISHED):
            await directory.unlink(name)
    bases = offsets_of(names, LOG)
    while len(bases) > 1 and bases[1] <= start_offset:
        await unlink_segment(directory, bases.pop(0))
    return bases
