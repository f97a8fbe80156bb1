from pathlib import Path

from trio_kafka.cli.log.findings import Level, error, warning

PATH = Path("/data/t-0/00000000000000000000.log")


def test_finding_as_text_is_one_line_with_path_position_and_offset() -> None:
    assert (
        error(PATH, "bad", 5, offset=7).as_text() == f"error: {PATH} at position 5, offset 7: bad"
    )
    assert error(PATH, "bad", 5).as_text() == f"error: {PATH} at position 5: bad"
    assert warning(PATH, "odd", offset=7).as_text() == f"warning: {PATH} at offset 7: odd"
    assert warning(PATH, "odd").as_text() == f"warning: {PATH}: odd"


def test_finding_as_data_has_all_its_fields() -> None:
    assert error(PATH, "bad", 5).as_data() == {
        "is": "finding",
        "level": Level.ERROR,
        "path": str(PATH),
        "position": 5,
        "offset": None,
        "text": "bad",
    }
