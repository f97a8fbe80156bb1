"""Map from keys to their latest offsets, bounded in memory.

Short keys are kept as they are, long ones as a hash of 128 bits, as Kafka does with all. A Python
dictionary takes several times Kafka's 24 bytes a key, so a run of this form covers fewer keys;
`records.columnar.key_table` has Kafka's density. The map is divided into many small tables, as one
large table would take many milliseconds to grow or to free.
"""

from hashlib import blake2b
from typing import Final

LONG: Final = 48  # bytes; longer keys are hashed
BYTES_PER_KEY: Final = 176  # of the table, a key of 48 bytes and an offset
_TABLES: Final = 256
MASK: Final = _TABLES - 1
_HASH_BYTES: Final = 16

Table = dict[bytes | int, int]


class KeyMap:
    """Latest offsets by key. tables: the key `k` is in number `hash(k) & MASK`.

    capacity: keys that may be added. salt: see `CleaningJob`.
    """

    def __init__(self, buffer_bytes: int, load_factor: float, salt: bytes = b"") -> None:
        self.slots = buffer_bytes // BYTES_PER_KEY
        self.capacity = int(self.slots * load_factor)
        self.tables: list[Table] = [{} for _ in range(_TABLES)]
        self._salt = salt[: blake2b.MAX_KEY_SIZE]

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    @property
    def utilization(self) -> float:
        return len(self) / self.slots if self.slots else 0.0

    def hashed(self, key: bytes) -> int:
        """Return what stands for a long key."""
        digest = blake2b(key, digest_size=_HASH_BYTES, key=self._salt).digest()
        return int.from_bytes(digest, "big")

    def put(self, key: bytes, offset: int) -> None:
        """Set the latest offset of a key."""
        short = key if len(key) <= LONG else self.hashed(key)
        self.tables[hash(short) & MASK][short] = offset

    def get(self, key: bytes) -> int:
        """Return the latest offset of a key; -1: unknown."""
        short = key if len(key) <= LONG else self.hashed(key)
        return self.tables[hash(short) & MASK].get(short, -1)
