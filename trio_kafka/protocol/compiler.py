"""Compiler of codecs: encode and decode functions of a message class and version.

Functions are compiled on first use and live as long as their class. Each also exists as a generator
that pauses after every array item, for messages too large to process at once. The generated source
is registered with `linecache`, so a traceback shows the line that failed; the same line identifies
the field that an error names.
"""

import linecache
import struct
import weakref
from collections.abc import Callable, Generator, Sequence
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
Write = Callable[[Any], object]
"""Takes a piece of a message: bytes, or a `records` value."""


class Decode(Protocol[T_co]):
    """Read a message from `position`; return it and the position after it. Raises DecodeError.

    Everything but `records` is copied. Bytes after the message are left to the caller.
    """

    def __call__(self, buffer: Buffer, position: int = 0, /) -> tuple[T_co, int]: ...


class Encode(Protocol[T_contra]):
    """Call `write` with each piece of a message: bytes, or a `records` value unchanged.

    Raises EncodeError, possibly after some pieces were written.
    """

    def __call__(self, message: T_contra, write: Write, /) -> None: ...


class DecodeInSteps(Protocol[T_co]):
    """Decode as a generator; its return value is that of Decode."""

    def __call__(
        self, buffer: Buffer, position: int = 0, /
    ) -> Generator[None, None, tuple[T_co, int]]: ...


class EncodeInSteps(Protocol[T_contra]):
    """Encode as a generator; everything is written when it is exhausted."""

    def __call__(self, message: T_contra, write: Write, /) -> Generator[None, None, None]: ...


def decoder(cls: type[T], version: int) -> Decode[T]:
    """Return the decoder of `cls` in a version. DecodeError if the version does not exist."""
    decode: Decode[T] = _codec(cls, version, "decode")
    return decode


def decoder_of_few(cls: type[T], version: int) -> Decode[T]:
    """Return a decoder that raises ManyItemsError for a message that must be decoded in steps.

    Small arrays and small messages never raise it. A message of 64 KiB can hold 20,000 items, 20
    ms.
    """
    decode: Decode[T] = _codec(cls, version, "decode_few")
    return decode


def encoder(cls: type[T], version: int) -> Encode[T]:
    """Return the encoder of `cls` in a version. EncodeError if the version does not exist."""
    encode: Encode[T] = _codec(cls, version, "encode")
    return encode


def decoder_in_steps(cls: type[T], version: int) -> DecodeInSteps[T]:
    """Return the decoder as a generator. It pauses about every 0.5 µs: check the time seldom."""
    decode: DecodeInSteps[T] = _codec(cls, version, "decode_in_steps")
    return decode


def encoder_in_steps(cls: type[T], version: int) -> EncodeInSteps[T]:
    """Return the encoder as a generator. An array may be any sized iterable, such as a lazy one."""
    encode: EncodeInSteps[T] = _codec(cls, version, "encode_in_steps")
    return encode


def counting_encoder(cls: type[T], version: int) -> Callable[[T, Write, dict[int, int]], None]:
    """Return an encoder that also counts all error codes, in its third argument.

    That argument is a `defaultdict(int)`.
    """
    encode: Callable[[T, Write, dict[int, int]], None]
    encode = _codec(cls, version, "encode_counting")
    return encode


def counting_encoder_in_steps(
    cls: type[T], version: int
) -> Callable[[T, Write, dict[int, int]], Generator[None, None, None]]:
    """Return the counting encoder as a generator."""
    encode: Callable[[T, Write, dict[int, int]], Generator[None, None, None]] = _codec(
        cls, version, "encode_counting_in_steps"
    )
    return encode


def to_bytes(message: object, version: int) -> bytes:
    """Encode a whole message as bytes; its records must be bytes too. Raises EncodeError."""
    pieces: list[bytes] = []
    encoder(type(message), version)(message, pieces.append)
    return b"".join(pieces)


def source_of(codec: Any) -> str:
    """Return the generated source of a codec, for inspection."""
    return "".join(linecache.getlines(codec.__code__.co_filename))


def _codecs(cls: type[Any]) -> dict[tuple[str, int], object]:
    """Return the codec cache of a class; it lives on the class and is unloaded with it."""
    codecs: dict[tuple[str, int], object] | None = cls.__dict__.get("__codecs__")
    if codecs is None:
        codecs = {}
        cls.__codecs__ = codecs
    return codecs


def _codec(cls: type[Any], version: int, verb: str) -> Any:
    """Return a codec, compiled on first use."""
    codecs = _codecs(cls)
    key = verb, version
    if key not in codecs:
        stepwise = verb.endswith("_in_steps")
        if verb.startswith("decode"):
            source = _source(cls, version, DecodeError)
            DecodeWriter(source, stepwise=stepwise, few=verb == "decode_few").write(cls)
            codecs[key] = _compile(cls, source, verb, "buf, pos=0")
        else:
            source = _source(cls, version, EncodeError)
            counting = "counting" in verb
            EncodeWriter(source, stepwise=stepwise, counting=counting).write(cls)
            parameters = "message, write, codes" if counting else "message, write"
            codecs[key] = _compile(cls, source, verb, parameters)
    return codecs[key]


def _source(cls: type[object], version: int, error: type[Exception]) -> Source:
    message = message_of(cls)
    if not covers(message.versions, version):
        served = show_versions(message.versions)
        raise error(f"{message.name} has no version {version}: want {served}")
    return Source(version, covers(message.flexible, version))


# Exceptions that a generated line raises for bad input. Other exceptions are bugs.
_DECODE_FAILURES: Final = (struct.error, IndexError, ValueError)
_ENCODE_FAILURES: Final = (
    struct.error,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
)


def _compile(cls: type[object], source: Source, verb: str, parameters: str) -> object:
    """Compile a function of a body. Its `try` costs nothing until a line fails."""
    decoding = verb.startswith("decode")
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
    exec(compile(text, file, "exec"), names)  # noqa: S102 - generated from declared tables only
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    weakref.finalize(cls, linecache.cache.pop, file, None)
    return names[verb]


def _wrapper(
    error: type[DecodeError] | type[EncodeError], title: str, paths: Sequence[str]
) -> Callable[[BaseException], Exception]:
    """Return a function that turns a failed line into an error naming message and field."""

    def wrap(failure: BaseException) -> Exception:
        trace = failure.__traceback__
        line = trace.tb_lineno - 3 if trace else -1
        place = paths[line] if 0 <= line < len(paths) else ""
        reason = f"{failure}" if not isinstance(failure, IndexError) else "the bytes end here"
        return error(f"{title}, {place or 'as a whole'}: {reason}")

    return wrap
