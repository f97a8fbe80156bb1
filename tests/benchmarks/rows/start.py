"""Starting on a data directory that is formatted: time and CPU to the first answer, memory then."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.bounds import at_most, times_other
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.registry import NotApplicableError, Target, row
from tests.benchmarks.server import Server


@row(
    "start",
    times_other("first answer", must=0.2, aim=0.12),
    times_other("CPU to first answer", must=0.2, aim=0.12),
    at_most("RSS", must=70, aim=50),
)
@row(
    "start-without-http",
    times_other("first answer", must=0.2, aim=0.12),
    times_other("CPU to first answer", must=0.2, aim=0.12),
    at_most("RSS", must=70, aim=50),
    settings=("plugin.http.listeners=",),  # Apache Kafka has none, and passes over it
)
def start(target: Target, settings: Sequence[str] = ()) -> Figures:
    if target.broker.start is None:
        raise NotApplicableError("it runs already")
    with TemporaryDirectory(dir=target.directory) as directory:
        with target.broker.start(Path(directory), *settings):
            pass  # formats
        with target.broker.start(Path(directory), *settings) as broker:
            server = Server(broker.process.pid)
            cpu_s = server.cpu_s()
            time.sleep(1)  # what goes on after the first answer
            rss, before = server.rss(), server.cpu_s()
            time.sleep(1)
            return {
                "first answer": Figure(broker.start_s * 1e3, "ms"),
                "CPU to first answer": Figure(cpu_s * 1e3, "ms"),
                "RSS": Figure(rss / 1e6, "MB"),
                "idle CPU": Figure((server.cpu_s() - before) * 1e3, "ms/s"),
            }
