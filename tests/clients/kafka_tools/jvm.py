"""Kafka's command-line tools in one JVM, which starts at the first question of this process.

A JVM for each question takes more than a second of CPU, nearly all of it for classes. The tools
share nothing but the JVM: each gets its arguments, and gives its status and what it prints.
"""

import atexit
import base64
import os
import subprocess
from functools import cache
from typing import Final, Protocol

from attrs import frozen

from tests.clients.build import APACHE_KAFKA, built, class_path, need, run

_TOOLS: Final = "org.apache.kafka.tools."
_OPTIONS: Final = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    f"-Dlog4j2.configurationFile={APACHE_KAFKA / 'log4j2.yaml'}",
    "-Dlog.level=ERROR",
)


@frozen
class Done:
    """End of a tool. printed: to standard output; errors: to standard error."""

    status: int
    printed: str
    errors: str


class AskTool(Protocol):
    """Runs a tool, named as for tool.sh, and returns how it ended."""

    def __call__(self, name: str, *arguments: str) -> Done: ...


def ask_tool(name: str, *arguments: str) -> Done:
    """Run a tool, named as for tool.sh. MissingError if what builds or runs it is missing."""
    full = name if name.startswith(("org.", "kafka.")) else _TOOLS + name
    jvm = _jvm()
    assert jvm.stdin is not None
    assert jvm.stdout is not None
    jvm.stdin.write(" ".join(_encoded(word) for word in (full, *arguments)) + "\n")
    jvm.stdin.flush()
    answer = jvm.stdout.readline()
    assert answer, f"{name}: the JVM of the tools ended with status {jvm.wait()}"
    status, printed, errors = answer.split()
    return Done(int(status), _decoded(printed), _decoded(errors))


def _encoded(word: str) -> str:
    return "." + base64.b64encode(word.encode()).decode()


def _decoded(word: str) -> str:
    return base64.b64decode(word[1:]).decode(errors="replace")


@cache
def _jvm() -> subprocess.Popen[str]:
    """The JVM, which ends with this process: its input does."""
    need("javac")
    jars = class_path("tools")
    home = built(
        "kafka_tools",
        lambda place: run(["javac", "-cp", jars, "-d", "classes", place / "Tools.java"], place),
        APACHE_KAFKA / "pom.xml",
    )
    command = ["java", *_OPTIONS, "-cp", f"{home / 'classes'}{os.pathsep}{jars}", "Tools"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="ascii"
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=30)
