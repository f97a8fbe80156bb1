"""docs/images/kill.svg, the recording of the README: what it shows is what happens."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.project.recording import LENGTH_S, PICTURE, TEST, drawn, lines_of, run, words_of
from tests.project.tree import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_new_run_of_the_recorded_program_prints_the_text_of_the_picture(tmp_path: Path) -> None:
    printed = run(tmp_path)

    again = "python -m tests.project.recording"
    assert words_of("".join(drawn(lines_of(printed)))) == words_of(PICTURE.read_text()), again


def test_picture_lasts_ten_seconds_and_contains_no_script() -> None:
    tree = ET.fromstring(PICTURE.read_text())
    tags = {element.tag.removeprefix(SVG) for element in tree.iter()}
    moments = [
        float(element.attrib["keyTimes"].split(";")[1]) * LENGTH_S
        for element in tree.iter(f"{SVG}animate")
    ]

    assert tags == {"svg", "title", "style", "rect", "text", "animate"}
    assert moments == sorted(moments)
    assert LENGTH_S == 10
    assert moments[-1] <= LENGTH_S - 2, "the end stays in view"
    assert PICTURE.stat().st_size < 10_000


def test_readme_shows_the_recorded_picture() -> None:
    assert "](docs/images/kill.svg)" in (ROOT / "README.md").read_text()
    assert "kafka.kill()" in TEST
