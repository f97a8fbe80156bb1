"""The file `quorum-state`: one line of JSON, a QuorumStateData with its version as `data_version`.

Version 0 belongs to kraft.version 0 with static voters, version 1 to kraft.version 1 (KIP-853).
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.fields import array, int32, int64, string, uuid
from trio_kafka.protocol.schema import data, fields_of, message_of, struct
from trio_kafka.protocol.texts import read_uuid, show_uuid, to_camel
from trio_kafka.protocol.versions import Range, covers

T = TypeVar("T")


@struct
class Voter:
    voter_id: int = int32()


@data(versions="0-1", flexible="0+")
class QuorumStateData:
    """Leader of the quorum, and this node's vote."""

    cluster_id: str = string("0")
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    voted_id: int = int32(default=-1)
    voted_directory_id: bytes = uuid("1+")
    applied_offset: int = int64("0")
    current_voters: list[Voter] | None = array(Voter, "0", nullable="0")


def write_quorum_state(state: QuorumStateData, version: int) -> str:
    """Return the content of the file. Raises EncodeError if the version cannot carry the state."""
    shown: dict[str, object] = {}
    unset = QuorumStateData()
    for field in fields_of(QuorumStateData):
        value = getattr(state, field.name)
        if covers(field.versions, version):
            show = _SHOW.get(field.kind)
            shown[to_camel(field.name)] = show(value) if show else value
        elif value != getattr(unset, field.name):
            raise EncodeError(f"{field.name}: no field of version {version}")
    return json.dumps({**shown, "data_version": version}, separators=(",", ":"))


def read_quorum_state(text: str) -> QuorumStateData:
    """Return the state in the content of a file. Raises DecodeError."""
    try:
        return _read(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise DecodeError(f"quorum-state {text[:200]!r}: {error}") from error


def _read(shown: object) -> QuorumStateData:
    """Parse the content. Raises ValueError, TypeError."""
    versions = message_of(QuorumStateData).versions
    if not isinstance(shown, dict) or not _is_version(shown.pop("data_version", None), versions):
        raise ValueError("want an object with a data_version of 0 or 1")
    state = QuorumStateData()
    for field in fields_of(QuorumStateData):
        name = to_camel(field.name)
        if name in shown:
            setattr(state, field.name, _READ[field.kind](shown.pop(name)))
    if shown:
        raise ValueError(f"unknown: {', '.join(shown)}")
    return state


def _is_version(value: object, versions: Range) -> bool:
    return type(value) is int and covers(versions, value)


def _exact(kind: type[T], value: object) -> T:
    """Check the exact type: a bool is no int here. Raises TypeError."""
    if type(value) is not kind:
        raise TypeError(f"{value!r}: want {kind.__name__}")
    return value


def _number(bits: int, value: object) -> int:
    """Check an integer and its range. Raises TypeError, ValueError."""
    number = _exact(int, value)
    if not -1 << bits - 1 <= number < 1 << bits - 1:
        raise ValueError(f"{number}: want an integer of {bits} bits")
    return number


def _show_voters(voters: list[Voter] | None) -> list[dict[str, int]] | None:
    return None if voters is None else [{"voterId": voter.voter_id} for voter in voters]


def _read_voters(shown: object) -> list[Voter] | None:
    if shown is None:
        return None
    if type(shown) is not list or not all(
        type(voter) is dict and [*voter] == ["voterId"] for voter in shown
    ):
        raise TypeError(f"{shown!r}: want an array of voterId")
    return [Voter(_number(32, voter["voterId"])) for voter in shown]


# By kind of field. A cattrs converter for these few fields would add 18 ms to the start.
_SHOW: Final[Mapping[str, Callable[[Any], object]]] = {"uuid": show_uuid, "array": _show_voters}
_READ: Final[Mapping[str, Callable[[object], object]]] = {
    "int32": partial(_number, 32),
    "int64": partial(_number, 64),
    "string": partial(_exact, str),
    "uuid": read_uuid,
    "array": _read_voters,
}
