import pytest

from trio_kafka.protocol.texts import printable, read_uuid, show_uuid, to_camel


def test_uuids_are_shown_and_read_in_the_base64_form_of_kafka() -> None:
    assert show_uuid(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert read_uuid("8g5JtBWGjpsuajDO9s-AFg") == bytes.fromhex("f20e49b415868e9b2e6a30cef6cf8016")
    for text in ("", "AAAA", "AAAAAAAAAAAAAAAAAAAAAQ==", "AAAAAAAAAAAAAAAAAAAA+/", "é" * 22):
        with pytest.raises(ValueError):
            read_uuid(text)


@pytest.mark.parametrize(
    ("ours", "kafkas"),
    [("acks", "acks"), ("enable2_pc", "enable2Pc"), ("k_raft_version", "kRaftVersion")],
)
def test_snake_case_names_are_converted_to_the_camel_case_names_of_kafka(
    ours: str, kafkas: str
) -> None:
    assert to_camel(ours) == kafkas


def test_non_printable_characters_are_escaped() -> None:
    assert printable("\x1b[2J\n") == "\\x1b[2J\\n"
    assert printable("äöü ß") == "äöü ß"
