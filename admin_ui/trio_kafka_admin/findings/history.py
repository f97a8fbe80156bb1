"""History of findings: when each began, and those that have ended, for 15 minutes."""

from collections.abc import Sequence
from typing import Final

from attrs import evolve, field

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Finding

KEPT_S: Final = 15 * 60.0
MOST: Final = 64  # ended findings
PRESENT_S: Final = 60.0  # time for which an event that is over stands among what lasts

Key = tuple[str, Subject]


@frozen
class Ended:
    """Finding that is over; times in seconds of the moments' clock."""

    finding: Finding
    began_at: float
    ended_at: float


@define(eq=False)
class History:
    """Findings over time. It is told of each moment; a moment that it knows changes nothing."""

    _began: dict[Key, float] = field(factory=dict, init=False)
    _last: dict[Key, Finding] = field(factory=dict, init=False)
    _ended: dict[Key, Ended] = field(factory=dict, init=False)  # the latest last
    _at: float | None = field(default=None, init=False)
    _current: list[Finding] = field(factory=list, init=False)

    def knows(self, at: float) -> bool:
        """Return whether this moment, or a later one, was added."""
        return self._at is not None and at <= self._at

    @property
    def current(self) -> Sequence[Finding]:
        """Findings of the latest moment, each with its age."""
        return self._current

    def ended(self, at: float) -> list[Finding]:
        """Return findings that are over, the latest first; age_s: since they began."""
        return [
            evolve(
                past.finding,
                age_s=at - past.began_at,
                ended_ago_s=at - past.ended_at,
                consequences=(),
            )
            for past in reversed(self._ended.values())
            if at - past.ended_at <= KEPT_S
        ]

    def add(self, at: float, findings: Sequence[Finding]) -> None:
        """Add the findings of a moment, folded; events that are over say so by `ended_ago_s`."""
        lasting = [finding for finding in findings if _is_present(finding)]
        keys = {finding.key for finding in lasting}
        for key in [key for key in self._began if key not in keys]:
            self._end(key, at)
        self._current = [self._begin(finding, at) for finding in lasting]
        for finding in findings:
            if finding.ended_ago_s is not None and not _is_present(finding):
                self._keep_event(finding, at)
        self._forget(at)
        self._at = at

    def _begin(self, finding: Finding, at: float) -> Finding:
        key = finding.key
        self._ended.pop(key, None)
        began = self._began.setdefault(key, at - (finding.age_s or 0.0))
        self._last[key] = finding
        return evolve(finding, age_s=max(at - began, finding.age_s or 0.0))

    def _end(self, key: Key, at: float) -> None:
        began, finding = self._began.pop(key), self._last.pop(key)
        if finding.ended_ago_s is not None:  # an event, as of the moment before
            at = (self._at or at) - finding.ended_ago_s
        elif finding.severity == "waits":
            return  # it waited on purpose, and has what it waited for
        self._ended.pop(key, None)
        self._ended[key] = Ended(finding, began, at)

    def _keep_event(self, finding: Finding, at: float) -> None:
        ended_at = at - (finding.ended_ago_s or 0.0)
        began_at = at - (finding.age_s or finding.ended_ago_s or 0.0)
        self._ended.pop(finding.key, None)
        self._ended[finding.key] = Ended(finding, began_at, ended_at)

    def _forget(self, at: float) -> None:
        for key in [key for key, past in self._ended.items() if at - past.ended_at > KEPT_S]:
            del self._ended[key]
        while len(self._ended) > MOST:
            del self._ended[next(iter(self._ended))]


def _is_present(finding: Finding) -> bool:
    return finding.ended_ago_s is None or finding.ended_ago_s <= PRESENT_S
