"""Installed packages with a plugin: what an installer leaves in a directory of the path."""

import threading
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Self

INIT = '"""A package of a test."""\n'
MESSAGES = """
    from trio_kafka.protocol.schema import int16, request, response, string

    @request(key=10300, versions="0", flexible="0+")
    class GreetRequest:
        name: str = string()

    @response(GreetRequest)
    class GreetResponse:
        error_code: int = int16()
        text: str = string()
"""
GREETER = '''
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    import trio
    from attrs import frozen

    from greeter.messages import GreetRequest, GreetResponse
    from trio_kafka.plugin import Context, PluginContext, api, plugin, string

    WORD = "hello"

    @frozen(kw_only=True)
    class Settings:
        mark: str = string("!", "What ends a greeting.")

    class State:
        """State of a generation."""

    @api(GreetRequest)
    async def greet(request: GreetRequest, context: Context) -> GreetResponse:
        from greeter import messages

        assert type(request) is messages.GreetRequest
        if request.name == "slow":
            await context.parked(trio.sleep, 5)
        else:
            await trio.lowlevel.checkpoint()
        return GreetResponse(text=f"{WORD} {request.name}")

    @plugin("greeter", settings=Settings)
    @asynccontextmanager
    async def greeter(context: PluginContext[Settings]) -> AsyncIterator[None]:
        """Greets."""
        context.state = State()
        context.add_api(greet)
        context.nursery.start_soon(trio.sleep_forever, name="upkeep")
        yield
'''

# A line of a module: its import waits for the test's gate.
WAIT_AT_IMPORT = (
    "import threading;"
    " next(one for one in threading.enumerate() if one.name == 'gate').wait_at_import()"
)


class Gate(threading.Thread):
    """A thread by whose name an import finds it. came: an import waits; open: it goes on."""

    def __init__(self) -> None:
        super().__init__(name="gate")
        self.came = threading.Event()
        self.open = threading.Event()
        self.threads: list[threading.Thread] = []

    def wait_at_import(self) -> None:
        self.threads.append(threading.current_thread())
        self.came.set()
        assert self.open.wait(20)

    def run(self) -> None:
        self.open.wait(30)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()
        self.join()


def write(target: Path, name: str, files: Mapping[str, str], points: Mapping[str, str]) -> None:
    """Modules by path, and the metadata that names their plugins."""
    for path, text in files.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
    info = target / f"{name}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.3\nName: {name}\nVersion: 1.0\n")
    lines = ["[trio_kafka.plugins]", *(f"{point} = {value}" for point, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def write_greeter(target: Path, source: str = GREETER) -> None:
    """A package of three modules, which import one another by full name."""
    files = {
        "greeter/__init__.py": INIT,
        "greeter/messages.py": MESSAGES,
        "greeter/serving.py": source,
    }
    write(target, "greeter", files, {"greeter": "greeter.serving:greeter"})


def change(target: Path, path: str, old: str, new: str) -> None:
    """Another version of a module; its source has another length, so that no cache knows it."""
    file = target / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
