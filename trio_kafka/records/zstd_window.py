"""Memory that a zstd block needs besides its output: the windows of its frames.

A decoder keeps as many bytes of its output as the frame's window states, up to 128 MiB, in memory
of its own. Producers use 8 MiB at most, except for levels above 19 (128 MiB).
Source: RFC 8878, section 3.1.1.1.
"""

from typing import Final

LARGEST_WINDOW: Final = 128 << 20  # decoders refuse larger ones unless told otherwise
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_COMMON: Final = _MAGIC[1:]  # frames of formats before 1.0 differ in the first byte
_SINGLE_SEGMENT: Final = 1 << 5
_MOST_FRAMES: Final = 1000


def largest_window(block: bytes) -> int:
    """Return an upper bound of the windows of all frames in `block`, in bytes.

    The block is searched for the magic number of frames, so that no frame can hide behind another.
        The bytes may occur by chance: then the bound is too high. O(n).
    """
    largest = 0
    at = block.find(_COMMON)
    for _ in range(_MOST_FRAMES):
        if at < 0 or largest == LARGEST_WINDOW:
            return largest
        largest = max(largest, _window(block, at + len(_COMMON)))
        at = block.find(_COMMON, at + len(_COMMON))
    return LARGEST_WINDOW


def _window(block: bytes, at: int) -> int:
    """Return the window of the frame with its header descriptor at `at`."""
    if block[at - len(_MAGIC) : at] != _MAGIC or at + 1 >= len(block):
        return LARGEST_WINDOW
    if block[at] & _SINGLE_SEGMENT:
        return LARGEST_WINDOW  # the window is as large as the content, whose size follows
    exponent, mantissa = divmod(block[at + 1], 8)
    base = 1 << (10 + exponent)
    return min(LARGEST_WINDOW, base + (base >> 3) * mantissa)
