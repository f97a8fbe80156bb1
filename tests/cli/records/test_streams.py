"""Standard output of commands in Trio's loop."""

import io

from trio_kafka.cli.records.streams import CHUNK, Output, read_some


async def test_output_is_written_when_it_is_flushed() -> None:
    stream = io.BytesIO()
    output = Output(stream, is_terminal=False)

    output.add(b"a\n")
    output.add(b"b\n")
    before = stream.getvalue()
    await output.flush()

    assert (before, stream.getvalue()) == (b"", b"a\nb\n")
    assert not output.is_due
    output.add(bytes(CHUNK))
    assert output.is_due


async def test_terminal_gets_escapes_instead_of_control_characters() -> None:
    stream = io.BytesIO()
    output = Output(stream, is_terminal=True)

    output.add(b"\x1b[2J\n\xff\n")
    await output.flush()

    assert stream.getvalue() == b"\\x1b[2J\n\\xff\n"


async def test_file_of_a_disk_is_written_too(tmp_path) -> None:
    with open(tmp_path / "out", "wb") as stream:
        output = Output(stream, is_terminal=False)
        output.add(b"a")
        await output.flush()

    assert (tmp_path / "out").read_bytes() == b"a"


async def test_input_is_read_as_far_as_there_is_some() -> None:
    assert await read_some(io.BytesIO(b"abc").read) == b"abc"
