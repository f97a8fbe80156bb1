"""Checks of index files against the batches of their segment, which are seen one after the other.

An index and its segment are read side by side, so neither is kept in memory. Each check has `see`
for a batch, and `finish` after the last one; both yield findings.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.cli.log.batches import Batch
from trio_kafka.cli.log.entries import DamagedFileError, Entry, read_entries
from trio_kafka.cli.log.findings import Finding, Level
from trio_kafka.cli.log.places import LogFile
from trio_kafka.records.header import NO_TIMESTAMP

MOST: Final = 5  # findings about one index: the rest has the same cause


class _IndexCheck:
    """Entries of an index, in order, and its findings. level: of damage in this file."""

    def __init__(self, file: LogFile, level: Level) -> None:
        self._file = file
        self._level = level
        self._entries = read_entries(file)
        self._entry: Entry | None = None
        self._before: Entry | None = None
        self._findings = 0
        self.count = 0

    def _finding(self, text: str, offset: int | None = None) -> Iterator[Finding]:
        """Yield a finding, unless there are enough."""
        self._findings += 1
        if self._findings > MOST:
            return
        if self._findings == MOST:
            text += "; more findings in this file are left out"
        yield Finding(level=self._level, path=self._file.path, text=text, offset=offset)

    def _advance(self, *ascending: str) -> Iterator[Finding]:
        """Take the next entry; None at the end, or after damage. ascending: fields that grow."""
        self._before, self._entry = self._entry, None
        try:
            self._entry = next(self._entries, None)
        except DamagedFileError as error:
            yield from self._finding(str(error))
            return
        if self._entry is None:
            return
        self.count += 1
        for name in ascending:
            if self._before is not None and self._before[name] >= self._entry[name]:
                yield from self._finding(
                    f"{name} {self._entry[name]} follows {self._before[name]}, want more",
                    self._entry["offset"],
                )


class OffsetIndexCheck(_IndexCheck):
    """Each entry names the last offset of a batch, and the position where that batch begins."""

    def __init__(self, file: LogFile, level: Level) -> None:
        super().__init__(file, level)
        self._begun = False

    def see(self, batch: Batch) -> Iterator[Finding]:
        """Check the entries up to a batch."""
        if not self._begun:
            self._begun = True
            yield from self._advance("offset", "position")
        while (entry := self._entry) is not None and entry["position"] <= batch.position:
            if entry["position"] < batch.position:
                yield from self._finding(
                    f"no batch begins at position {entry['position']}", entry["offset"]
                )
            elif entry["offset"] != batch.last_offset:
                yield from self._finding(
                    f"the batch at position {batch.position} ends with offset"
                    f" {batch.last_offset}, not {entry['offset']}",
                    entry["offset"],
                )
            yield from self._advance("offset", "position")

    def finish(self) -> Iterator[Finding]:
        """Check the entries after the last batch."""
        if not self._begun:
            self._begun = True
            yield from self._advance("offset", "position")
        while (entry := self._entry) is not None:
            yield from self._finding(
                f"position {entry['position']} is beyond the segment", entry["offset"]
            )
            yield from self._advance("offset", "position")


class TimeIndexCheck(_IndexCheck):
    """Each entry names an offset and the largest timestamp up to it, that of its batch."""

    def __init__(self, file: LogFile, level: Level) -> None:
        super().__init__(file, level)
        self._begun = False
        self._latest = NO_TIMESTAMP

    def see(self, batch: Batch) -> Iterator[Finding]:
        """Check the entries with offsets up to the end of a batch."""
        if not self._begun:
            self._begun = True
            yield from self._advance("timestamp", "offset")
        while (entry := self._entry) is not None and entry["offset"] <= batch.last_offset:
            yield from self._check(entry, batch)
            yield from self._advance("timestamp", "offset")
        self._latest = max(self._latest, batch.header.max_timestamp)

    def _check(self, entry: Entry, batch: Batch) -> Iterator[Finding]:
        offset, time = entry["offset"], entry["timestamp"]
        if not batch.is_message and offset < batch.base_offset:
            yield from self._finding("no batch holds this offset", offset)
        elif self._latest > time:
            yield from self._finding(
                f"timestamp {time}, but {self._latest} is before it: searches by time miss records",
                offset,
            )
        elif batch.header.max_timestamp != time:
            yield from self._finding(
                f"timestamp {time}, its batch has {batch.header.max_timestamp}", offset
            )

    def finish(self) -> Iterator[Finding]:
        """Check the entries after the last batch."""
        if not self._begun:
            self._begun = True
            yield from self._advance("timestamp", "offset")
        while (entry := self._entry) is not None:
            yield from self._finding("the offset is beyond the segment", entry["offset"])
            yield from self._advance("timestamp", "offset")
