"""A small file system of its own for a broker process: it can be full, and become read-only.

The file system is in memory, in a mount namespace that ends with the block. It needs user
namespaces, or the rights of an administrator.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from trio_kafka.attributes import frozen
from trio_kafka.testing.processes import trio_kafka_command


@frozen
class SmallDisk:
    """A file system at `path`, which only processes of the namespace of `holder` see."""

    holder: int
    path: Path

    def command(self, port: int, data: Path, settings: Sequence[str]) -> list[str]:
        """Command of a broker that sees the file system. `data`: its first directory."""
        return [*self._enter(), *trio_kafka_command(port, data, settings)]

    def remount(self, options: str) -> None:
        """Change the file system, such as `size=64m` or `ro`."""
        self.run("mount", "-o", f"remount,{options}", str(self.path))

    def run(self, *command: str) -> str:
        """Run a program that sees the file system; return its output."""
        done = subprocess.run(
            [*self._enter(), *command], check=True, capture_output=True, text=True
        )
        return done.stdout

    def _enter(self) -> list[str]:
        user = ["-U", "--preserve-credentials"] if "-r" in namespaces() else []
        return ["nsenter", "-t", str(self.holder), *user, "-m"]


@cache
def namespaces() -> tuple[str, ...]:
    """Return the options of `unshare` that this machine allows; none if it allows no mounts."""
    for options in (("-r", "-m"), ("-m",)):
        try:
            done = subprocess.run(["unshare", *options, "true"], check=False, capture_output=True)
        except FileNotFoundError:
            return ()
        if done.returncode == 0:
            return options
    return ()


def can_mount() -> bool:
    """Return whether this machine lets this user mount file systems in a namespace."""
    return bool(namespaces())


@contextmanager
def small_disk(path: Path, options: str) -> Iterator[SmallDisk]:
    """Mount a file system in memory while the block runs. options: such as `size=16m`."""
    path.mkdir()
    script = f'mount -t tmpfs -o {options} tmpfs "$1" && echo mounted && exec sleep 3600'
    holder = subprocess.Popen(
        ["unshare", *namespaces(), "sh", "-c", script, "sh", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mounted\n"
        try:
            yield SmallDisk(holder.pid, path)
        finally:
            holder.kill()
