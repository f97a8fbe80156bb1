"""The compiled leaf, where it is installed: the four functions that touch every record or header.

It is the distribution `trio-kafka-leaf` (extra `[fast]`, `make leaf`). Without it, or with
TRIO_KAFKA_LEAF=off in the environment, the Python twin runs: `leaf()` is None. A function returns
None when it is in doubt; the twin goes on from where it was asked to begin, so all errors are the
twin's. Each call ends after `most` records and headers, so that other tasks can run.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar, cast

from trio_kafka.world.switches import is_off

if TYPE_CHECKING:  # `trio-kafka version` imports this module, and nothing else
    from trio_kafka.world.protocols import Buffer

SWITCH: Final = "TRIO_KAFKA_LEAF"
_INTERFACE: Final = 3  # of the functions below; another leaf does not fit
_MODULE: Final = "trio_kafka_leaf.records"
T = TypeVar("T")


class CheckRules(NamedTuple):
    """Rules of `check_records`. longest: bytes of a record. oldest, newest: create times, ms."""

    longest: int
    oldest: int
    newest: int
    needs_keys: bool
    is_timed: bool


class CheckState(NamedTuple):
    """Place between two checked records: the byte, the records before, the latest time, ms."""

    at: int
    number: int
    latest: int


class ScanState(NamedTuple):
    """Place between two records: the byte, the number of records and the offset delta before."""

    at: int = 0
    number: int = 0
    last_delta: int = -1


class EncodeState(NamedTuple):
    """Numbers of a batch that is filled, see `BatchBody`. base_timestamp: None without records."""

    base_offset: int
    base_timestamp: int | None
    max_timestamp: int
    last_delta: int


class HeaderFields(Protocol):
    """Fields of a `BatchHeader` that the functions read."""

    base_offset: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    count: int


class Leaf(Protocol):
    """The compiled functions. States that they return are plain tuples."""

    def headers(
        self,
        cls: type[T],
        data: "Buffer",
        position: int,
        most: int,
        crc32c: Callable[["Buffer"], int] | None,
        /,
    ) -> tuple[list[tuple[int, T]], int] | None:
        """Return positions and headers of at most `most` whole batches, and the place after them.

        None: the first one is not surely valid. cls: class of the headers; all fields are slots of
        its own, which are filled without a call. crc32c: None, or checksums are compared; it
        computes those of long batches, and all where the processor has no instruction for it.
        """

    def check_records(
        self,
        data: "Buffer",
        header: HeaderFields,
        rules: CheckRules | tuple[int, int, int, bool, bool],
        state: CheckState,
        most: int,
        /,
    ) -> tuple[int, int, int] | None:
        """Check records from `state` on; return the next one, at the end, at
        a pause or a doubt. None: a doubt at once.
        """

    def decode(
        self,
        cls: type[T],
        data: bytes,
        header: HeaderFields,
        state: ScanState,
        most: int,
        /,
    ) -> tuple[list[T], tuple[int, int, int]] | None:
        """Decode records from `state` on; return them and the next state. cls: as of `headers`."""

    def encode(
        self, records: Sequence[object], state: EncodeState, /
    ) -> tuple[bytearray, int, tuple[int, int | None, int, int]] | None:
        """Encode records as `BatchBody` does; return them, their count and the next state."""


def _load() -> tuple[Leaf | None, str]:
    """Return the leaf, or None, and the reason in words."""
    if is_off(SWITCH):
        return None, f"Python (switched off by {SWITCH})"
    try:
        package, functions = import_module("trio_kafka_leaf"), import_module(_MODULE)
    except ModuleNotFoundError:
        return None, "Python"
    except ImportError as error:
        return None, f"Python (trio-kafka-leaf cannot be loaded: {error})"
    if package.INTERFACE != _INTERFACE:
        return None, f"Python (trio-kafka-leaf has interface {package.INTERFACE}, not {_INTERFACE})"
    return cast("Leaf", functions), "compiled"


_leaf, RECORDS_BY = _load()


def leaf() -> Leaf | None:
    """Return the compiled functions; None: the twin runs."""
    return _leaf
