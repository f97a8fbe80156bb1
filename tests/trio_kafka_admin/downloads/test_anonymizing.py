"""Names replaced by pseudonyms."""

import pytest

from trio_kafka_admin.downloads.anonymizing import Pseudonyms

NAMES = [
    ("topic", "ledger"),
    ("topic", "ledger.entries"),
    ("group", "settlement"),
    ("group", "ledger"),  # a topic has this name, too
    ("client", "import job (night)"),
    ("client", "x\x00y"),
    ("client", "z" * 1000),
    ("directory", "/data/kafka"),
    ("host", "::1"),
]


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("ledger", "topic-1"),
        ("ledger-12", "topic-1-12"),
        ("ledger.entries-0 waits", "topic-2-0 waits"),
        ("ledgers", "ledgers"),
        ("group settlement lags by 12 records.", "group group-1 lags by 12 records."),
        ("group settlement.", "group group-1."),
        ("of import job (night), for 3 s", "of client-1, for 3 s"),
        ("x\\x00y", "client-2"),
        (f"{'z' * 300}... (1000 characters)", "client-3"),
        ("/data/kafka/ledger-0/0.log", "directory-1/topic-1-0/0.log"),
        ("[::1]:9092", "[host-1]:9092"),
        ("10.0.0.7:9092", "address:9092"),
        ("nothing of ours", "nothing of ours"),
    ],
)
def test_whole_names_in_a_text_are_replaced(text: str, replaced: str) -> None:
    assert Pseudonyms(NAMES).text(text) == replaced


async def test_texts_and_keys_of_data_are_replaced_and_numbers_kept() -> None:
    data = {"ledger": [1, None, True, {"group": "settlement"}], "size": 2.5}

    replaced = await Pseudonyms(NAMES).replaced(data)

    assert replaced == {"topic-1": [1, None, True, {"group": "group-1"}], "size": 2.5}
