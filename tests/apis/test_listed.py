"""The list of handlers says what they serve, and a start that has it imports none of them."""

import subprocess
import sys

from tests.apis.listing import PLACE, render
from trio_kafka_apis.listed import LISTED

COUNT = """
import sys
from trio_kafka.requests.registry import installed_apis
registry = installed_apis()
loaded = [name for name in sys.modules if name.startswith("trio_kafka_apis.")]
assert [one.key for one in registry] == %r, "what is served"
assert loaded == ["trio_kafka_apis.listed"], loaded
assert not [name for name in sys.modules if name.startswith("trio_kafka.protocol.messages.")]
registry.get(60)
assert "trio_kafka_apis.k60_describe_cluster" in sys.modules
"""


def test_the_generated_list_of_apis_matches_the_handlers() -> None:
    assert PLACE.read_text() == render(), "run: .venv/bin/python -m tests.apis.listing"


def test_no_handler_is_imported_before_its_first_request() -> None:
    keys = [key for key, *_ in LISTED]
    subprocess.run([sys.executable, "-c", COUNT % keys], check=True)
