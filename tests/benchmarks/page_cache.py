"""Memory for files, warm.

A virtual machine may give free memory back to its host after a second or two; who uses it next pays
for getting it back, ten times what the write costs (0.2 s/GiB and 2.5 were measured). Brokers would
pay by chance, more than what they are measured for.
"""

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_PIECE: Final = b"\1" * (1 << 20)


def warm_page_cache(directory: Path, size: int) -> None:
    """Have the kernel take `size` bytes of memory for a file of this directory, and free them: who
    writes within a second gets the same.
    """
    with TemporaryFile(dir=directory, buffering=0) as file:
        for _ in range(0, size, len(_PIECE)):
            file.write(_PIECE)
        os.ftruncate(file.fileno(), 0)  # before any of it goes to the disk
