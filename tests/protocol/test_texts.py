import pytest

from trio_kafka.protocol.texts import printable, read_uuid, show_uuid, to_camel


def test_uuids_are_shown_as_kafka_shows_them() -> None:
    assert show_uuid(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert read_uuid("8g5JtBWGjpsuajDO9s-AFg") == bytes.fromhex("f20e49b415868e9b2e6a30cef6cf8016")
    for text in ("", "AAAA", "AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAA+/", "é" * 22):
        with pytest.raises(ValueError):
            read_uuid(text)


@pytest.mark.parametrize(
    ("ours", "kafkas"),
    [("acks", "acks"), ("enable2_pc", "enable2Pc"), ("k_raft_version", "kRaftVersion")],
)
def test_names_are_kafkas_in_snake_case(ours: str, kafkas: str) -> None:
    assert to_camel(ours) == kafkas


def test_what_is_no_printable_character_is_shown_escaped() -> None:
    assert printable("\x1b[2J\n") == "\\x1b[2J\\n"
    assert printable("äöü ß") == "äöü ß"
