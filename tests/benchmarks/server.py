"""Cost of a server process: CPU time and memory of it and all its descendants (Linux)."""

import os
import time
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_LISTEN = "0A"
_GLANCE_S = 0.25


class Server:
    """A process of this machine."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def cpu_s(self) -> float:
        """CPU seconds since its start, in nanoseconds where /proc counts in hundredths."""
        # The clock of another process is its id, shifted and marked: clock_getcpuclockid(3).
        return sum(time.clock_gettime(~pid << 3 | 2) for pid, _ in self._family())

    def rss(self) -> int:
        """Resident bytes."""
        return sum(pages for _, pages in self._family()) * _PAGE

    def wait_until_idle(self, cores: float = 0.1, within_s: float = 20.0) -> bool:
        """Whether what was left to do is done: it used less than that in a quarter of a second."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            cpu_s, began = self.cpu_s(), time.monotonic()
            time.sleep(_GLANCE_S)
            if self.cpu_s() - cpu_s < cores * (time.monotonic() - began):
                return True
        return False

    def _family(self) -> list[tuple[int, int]]:
        pages: dict[int, int] = {}
        parents: dict[int, int] = {}
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                text = Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                continue  # ended meanwhile
            fields = text.rpartition(")")[2].split()
            pages[pid], parents[pid] = int(fields[21]), int(fields[1])
        family = {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return [(pid, pages[pid]) for pid in family if pid in pages]


def cpu_with_children_s(pid: int) -> float:
    """CPU seconds of a process and its descendants, those included that have ended since.

    In hundredths of a second: only so does the kernel count the processes that have ended.
    """
    fields, parents = {}, {}
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with suppress(OSError):
            text = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            parents[process], fields[process] = int(text[1]), sum(map(int, text[11:15]))
    family = {pid}
    while more := {process for process, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(fields.get(process, 0) for process in family) / _TICKS


def listening_pid(port: int) -> int:
    """The process that listens on a TCP port of this machine. LookupError."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") in inodes:
                    return int(pid)
        except OSError:
            continue  # ended, or of another user
    raise LookupError(f"no process of this machine is seen to listen on port {port}")
