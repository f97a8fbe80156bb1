"""A viewer of the admin UI meanwhile: each page, as HTML and as JSON."""

import json
from itertools import cycle
from typing import Final
from urllib.request import urlopen

from tests.benchmarks.soak.load import Load

HTTP: Final = "HTTP"  # its place among the listeners
TARGETS: Final = (
    "overview",
    "tree",
    "tree?limit=5000",
    "queues",
    "requests",
    "requests?which=slowest",
    "connections?limit=5000",
    "plugins",
)


def look_at_pages(load: Load, topic: str) -> None:
    """One after the other, twice a second. HTTPError for one that is refused."""
    del topic
    host, port = load.places[HTTP]
    targets = cycle(TARGETS)
    for _ in load.paced(0.5):
        target = next(targets)
        for kind in ("", "api/"):
            with urlopen(f"http://{host}:{port}/admin/{kind}{target}", timeout=30) as answer:
                body = answer.read()
            whole = isinstance(json.loads(body), dict) if kind else body.endswith(b"</html>")
            if not whole:
                raise ValueError(f"{kind}{target}: an answer of {len(body)} bytes without its end")
            load.done["pages"] += 1
