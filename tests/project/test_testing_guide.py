"""docs/how-to/test-your-application.md and the README: what they name, and how long they are."""

from tests.project.guides import blocks_of
from tests.project.tree import ROOT
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.pytest_plugin import SCOPES

GUIDE = (ROOT / "docs" / "how-to" / "test-your-application.md").read_text()


def test_testing_guide_names_every_method_of_the_kafka_fixture_and_every_option() -> None:
    public = {name for name in vars(Kafka) if not name.startswith("_")}
    left_out = {"broker", "look", "is_running", "is_paused"}

    assert [
        name for name in public - left_out if f"`{name}" not in GUIDE and f" {name}" not in GUIDE
    ] == []
    assert [scope for scope in SCOPES if f"`{scope}`" not in GUIDE] == []


def test_example_test_in_the_readme_has_at_most_eight_lines_of_code() -> None:
    (block,) = blocks_of("readme")

    assert len([line for line in block.splitlines() if line]) <= 8
