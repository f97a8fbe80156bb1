"""Files that a browser needs besides a page."""

import re

from tests.project.tree import ROOT
from trio_kafka_admin.static_files import read_static_files

STATIC = ROOT / "admin_ui" / "trio_kafka_admin" / "static"


def test_every_static_file_has_a_distinct_etag() -> None:
    static_files = read_static_files()

    assert set(static_files) == {path.name for path in STATIC.iterdir()}
    assert len({file.etag for file in static_files.values()}) == len(static_files)
    for name, file in static_files.items():
        if name != "cards.css":  # see below
            assert file.content == (STATIC / name).read_bytes()
        assert re.fullmatch(rb'"[0-9a-f]{24}"', file.etag)


def test_static_files_load_no_external_resources() -> None:
    for path in STATIC.iterdir():
        # Names of namespaces, which nothing loads.
        text = re.sub(r"http://www.w3.org/(2000/svg|1999/xhtml)", "", path.read_text())
        assert re.findall(r"https?:|//[a-z]|@import|url\(", text) == []


def test_rules_of_cards_are_repeated_for_each_width_of_a_table() -> None:
    served = read_static_files()["cards.css"].content.decode()
    rules = (STATIC / "cards.css").read_text()

    blocks = served.split("@media ")[1:]
    assert [block.partition(" {")[0] for block in blocks] == [
        "(max-width: 760px)",
        "(max-width: 1240px)",
        "(max-width: 1560px)",
    ]
    for block, name in zip(blocks, (":not(.small)", ".middle", ".wide"), strict=True):
        assert block.partition(" {\n")[2].removesuffix("}\n").replace(name, "") == rules
