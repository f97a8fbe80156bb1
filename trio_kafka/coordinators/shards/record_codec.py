"""Codec of the records of one internal topic: typed key and value to bytes, and back.

A key begins with the record's type, a value with its version, both int16. Type numbers have a
meaning within a topic only: type 0 is an offset in `__consumer_offsets`, a transactional id in
`__transaction_state`. So each topic has a codec of its own.
"""

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from types import ModuleType
from typing import Final, TypeAlias

from trio_kafka.coordinators.shards.effects import LATEST, CoordinatorRecord
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.compiler import Decode, decoder, encoder
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of

RecordTypes: TypeAlias = Mapping[int, tuple[type, type]]  # key and value, by type number
# First bytes of a key or value, and the function that writes the rest.
_Encoder: TypeAlias = tuple[bytes, Callable[[object, Callable[[bytes], object]], None]]
_INT16: Final = Struct(">h")
_SIZE: Final = _INT16.size
_unpack_number: Final = _INT16.unpack_from


class UnknownTypeError(DecodeError):
    """The record's type is unknown here; a newer broker has written it."""


def record_types(*modules: ModuleType) -> dict[int, tuple[type, type]]:
    """Return the classes of key and value by record type that the modules declare."""
    keys: dict[int, type] = {}
    values: dict[int, type] = {}
    for module in modules:
        for name, declared in vars(module).items():
            message = getattr(declared, "__message__", None)
            if message is not None and message.key is not None:
                (keys if name.endswith("Key") else values)[message.key] = declared
    return {number: (keys[number], values[number]) for number in keys}


def _no_modules() -> Iterable[ModuleType]:
    return ()


class RecordCodec:
    """Codec of one internal topic."""

    def __init__(
        self,
        *modules: ModuleType,
        unserved: Callable[[], Iterable[ModuleType]] = _no_modules,
        written: Mapping[type, int] | None = None,
    ) -> None:
        """modules: declare the classes of keys and values. unserved: return modules of types that
        this broker only reads; called for the first record of such a type.

        written: version in which a class is written, if not its newest, so that old brokers can
        read it.
        """
        self._types: RecordTypes = record_types(*modules)
        self._unserved = unserved
        self._all_types: RecordTypes | None = None
        self._written = {} if written is None else written
        # By type number: of the key, and those of the value by version. A load needs two a record.
        self._decoders: dict[int, tuple[Decode[object], dict[int, Decode[object]]]] = {}
        self._key_encoders: dict[type, _Encoder] = {}
        self._value_encoders: dict[tuple[type, int], _Encoder] = {}

    def all_types(self) -> RecordTypes:
        """Return the classes of key and value by record type, of unserved types too."""
        if self._all_types is None:
            self._all_types = {**self._types, **record_types(*self._unserved())}
        return self._all_types

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return key and value as bytes.

        Raises KafkaError(UNKNOWN_SERVER_ERROR) for a value that does not fit, such as a string of
        more than 32,767 bytes. It refuses one event, as a record does that is too large for a log.
        """
        key, value = record.key, record.value
        try:
            begin, encode = self._key_encoders.get(type(key)) or self._key_encoder(type(key))
            pieces = [begin]
            encode(key, pieces.append)
            key_bytes = b"".join(pieces)
            if value is None:
                return key_bytes, None
            kind = type(value), record.version
            begin, encode = self._value_encoders.get(kind) or self._value_encoder(*kind)
            pieces = [begin]
            encode(value, pieces.append)
        except EncodeError as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
        return key_bytes, b"".join(pieces)

    def decode(self, key: Buffer, value: Buffer | None) -> CoordinatorRecord:
        """Return the record of a key and value.

        Raises UnknownTypeError for an unknown type, and DecodeError for an unknown version or
        malformed bytes.
        """
        if len(key) < _SIZE:
            raise DecodeError(f"record key of {len(key)} bytes: expected at least 2 for the type")
        (number,) = _unpack_number(key)
        decode_key, value_decoders = self._decoders.get(number) or self._key_decoder(number)
        key_message, _ = decode_key(key, _SIZE)
        if value is None:
            return CoordinatorRecord(key_message)
        if len(value) < _SIZE:
            raise DecodeError(
                f"record value of {len(value)} bytes: expected at least 2 for the version"
            )
        (version,) = _unpack_number(value)
        decode_value = value_decoders.get(version) or self._value_decoder(number, version)
        value_message, _ = decode_value(value, _SIZE)
        return CoordinatorRecord(key_message, value_message, version)

    def _classes(self, number: int) -> tuple[type, type]:
        classes = self._types.get(number) or self.all_types().get(number)
        if classes is None:
            raise UnknownTypeError(f"record of unknown type {number}")
        return classes

    def _key_decoder(self, number: int) -> tuple[Decode[object], dict[int, Decode[object]]]:
        decode: Decode[object] = decoder(self._classes(number)[0], 0)
        decoders = self._decoders[number] = decode, {}
        return decoders

    def _value_decoder(self, number: int, version: int) -> Decode[object]:
        decode: Decode[object] = decoder(self._classes(number)[1], version)
        self._decoders[number][1][version] = decode
        return decode

    def _key_encoder(self, cls: type) -> _Encoder:
        number = message_of(cls).key
        if number is None:
            raise TypeError(f"{cls.__name__} is not the key of a stored record")
        prefixed = self._key_encoders[cls] = _INT16.pack(number), encoder(cls, 0)
        return prefixed

    def _value_encoder(self, cls: type, version: int) -> _Encoder:
        number = version
        if version == LATEST:
            number = self._written.get(cls, message_of(cls).versions[1])
        prefixed = self._value_encoders[cls, version] = _INT16.pack(number), encoder(cls, number)
        return prefixed
