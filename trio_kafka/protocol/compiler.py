"""Codecs of a message class and version: one decode and one encode function, compiled on first use
and kept.

The generated source is known to `linecache`, so that a traceback shows the line that failed; the
same line tells the field that an error names. Functions live as long as their class.
"""

import linecache
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from trio_kafka.protocol.decoding import DecodeWriter
from trio_kafka.protocol.encoding import EncodeWriter
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.source import Source
from trio_kafka.protocol.versions import covers, show_versions

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class Decode(Protocol[T_co]):
    """Read a message from `position`; returns it and the position behind it. Raises DecodeError.

    Everything but `records` is copied. Bytes behind the message are the caller's matter.
    """

    def __call__(self, buffer: Buffer, position: int = 0, /) -> tuple[T_co, int]: ...


class Encode(Protocol[T_contra]):
    """Call `write` with each piece of a message: bytes, or what stood in a `records` field as it
    is.

    Raises EncodeError, and then some pieces may have been written.
    """

    def __call__(self, message: T_contra, write: Callable[[Any], object], /) -> None: ...


def decoder(cls: type[T], version: int) -> Decode[T]:
    """The function that decodes `cls` in a version. DecodeError if there is no such version."""
    codecs = _codecs(cls)
    key = "decode", version
    if key not in codecs:
        source = _source(cls, version, DecodeError)
        DecodeWriter(source).write(cls)
        codecs[key] = _compile(cls, source, "decode", "buf, pos=0")
    decode: Decode[T] = codecs[key]
    return decode


def encoder(cls: type[T], version: int) -> Encode[T]:
    """The function that encodes `cls` in a version. EncodeError if there is no such version."""
    codecs = _codecs(cls)
    key = "encode", version
    if key not in codecs:
        source = _source(cls, version, EncodeError)
        EncodeWriter(source).write(cls)
        codecs[key] = _compile(cls, source, "encode", "message, write")
    encode: Encode[T] = codecs[key]
    return encode


def to_bytes(message: object, version: int) -> bytes:
    """A whole message as bytes; its records must be bytes too. Raises EncodeError."""
    pieces: list[bytes] = []
    encoder(type(message), version)(message, pieces.append)
    return b"".join(pieces)


def source_of(codec: Any) -> str:
    """The generated source of a codec, for those who want to read it."""
    return "".join(linecache.getlines(codec.__code__.co_filename))


def _codecs(cls: type[Any]) -> dict[tuple[str, int], Any]:
    """The codecs made so far, kept by the class itself: a plugin that is unloaded takes its own
    with it.
    """
    codecs: dict[tuple[str, int], Any] | None = cls.__dict__.get("__codecs__")
    if codecs is None:
        codecs = {}
        cls.__codecs__ = codecs
    return codecs


def _source(cls: type[Any], version: int, error: type[Exception]) -> Source:
    message = message_of(cls)
    if not covers(message.versions, version):
        known = show_versions(message.versions)
        raise error(f"{message.name} has no version {version}: want {known}")
    return Source(version, covers(message.flexible, version))


# What the lines of generated code raise for input of any kind. A line that raises anything else is
# a bug here.
_DECODE_FAILURES: Final = (struct.error, IndexError, ValueError)
_ENCODE_FAILURES: Final = (
    struct.error,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)


def _compile(cls: type[Any], source: Source, verb: str, parameters: str) -> Any:
    """Make a function of a body: `try` around it costs nothing until a line fails."""
    decoding = verb == "decode"
    failures = _DECODE_FAILURES if decoding else _ENCODE_FAILURES
    title = f"{cls.__name__} version {source.version}"
    wrap = _wrapper(DecodeError if decoding else EncodeError, title, source.paths)
    lines = [
        f"def {verb}({parameters}):",
        " try:",
        *(f"  {line}" for line in source.lines or ["pass"]),
        " except failures as error:",
        "  raise wrap(error) from error",
    ]
    text = "\n".join(lines) + "\n"
    file = f"<{cls.__module__}.{cls.__qualname__} version {source.version} {verb}>"
    names = {**source.names, "failures": failures, "wrap": wrap}
    exec(compile(text, file, "exec"), names)  # noqa: S102 - made of declared tables alone
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    weakref.finalize(cls, linecache.cache.pop, file, None)
    return names[verb]


def _wrapper(
    error: type[DecodeError] | type[EncodeError], title: str, paths: Sequence[str]
) -> Callable[[BaseException], Exception]:
    """What makes of a failed line an error that names the message and the field."""

    def wrap(failure: BaseException) -> Exception:
        trace = failure.__traceback__
        line = trace.tb_lineno - 3 if trace else -1
        place = paths[line] if 0 <= line < len(paths) else ""
        reason = f"{failure}" if not isinstance(failure, IndexError) else "the bytes end here"
        return error(f"{title}, {place or 'as a whole'}: {reason}")

    return wrap
