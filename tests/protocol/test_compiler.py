import gc
import linecache
import traceback

import pytest

from trio_kafka.protocol.compiler import decoder, encoder, source_of, to_bytes
from trio_kafka.protocol.errors import DecodeError, EncodeError
from trio_kafka.protocol.schema import data, int32, string, struct


@data(versions="1-2", flexible="2+")
class Note:
    number: int = int32()
    text: str = string()


def test_a_codec_is_compiled_once_for_each_class_and_version() -> None:
    assert decoder(Note, 1) is decoder(Note, 1)
    assert encoder(Note, 1) is encoder(Note, 1)
    assert decoder(Note, 1) is not decoder(Note, 2)


@pytest.mark.parametrize("version", [0, 3, -1])
def test_a_version_that_does_not_exist_has_no_codec(version: int) -> None:
    with pytest.raises(DecodeError, match=f"Note has no version {version}: want 1-2"):
        decoder(Note, version)
    with pytest.raises(EncodeError, match=f"Note has no version {version}: want 1-2"):
        encoder(Note, version)


def test_a_struct_that_is_not_a_message_has_no_codec() -> None:
    @struct
    class Part:
        number: int = int32()

    with pytest.raises(TypeError, match="is not a message"):
        decoder(Part, 0)


def test_a_traceback_shows_the_generated_line_that_failed() -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(Note, 1)(b"\0\0\0\1\0\5ab")

    shown = "".join(traceback.format_exception(caught.value))
    assert "raise Malformed('longer than the rest of the message')" in shown
    assert "Note version 1 decode" in shown


def test_the_generated_source_can_be_read() -> None:
    assert source_of(decoder(Note, 2)).startswith("def decode(buf, pos=0):\n")
    assert source_of(encoder(Note, 2)).startswith("def encode(message, write):\n")


def test_codecs_and_sources_of_a_class_are_freed_with_the_class() -> None:
    @data(versions="0")
    class Passing:
        number: int = int32()

    to_bytes(Passing(), 0)
    files = [file for file in linecache.cache if "Passing version 0" in file]
    assert len(files) == 1

    del Passing
    gc.collect()

    assert not [file for file in linecache.cache if "Passing version 0" in file]


def test_a_message_survives_a_round_trip_at_any_offset_of_a_buffer() -> None:
    for version in (1, 2):
        encoded = to_bytes(Note(5, "five"), version)
        assert decoder(Note, version)(encoded) == (Note(5, "five"), len(encoded))
        assert decoder(Note, version)(b"xx" + encoded, 2) == (Note(5, "five"), len(encoded) + 2)
