"""A finding, and how bad it is."""

from typing import Final, Literal

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Subject

Severity = Literal["wrong", "watch", "waits"]
"""wrong: an operator has to act. watch: may become wrong. waits: on purpose, worth knowing."""
SEVERITIES: Final[tuple[Severity, ...]] = ("wrong", "watch", "waits")
"""The worst first."""


@frozen(kw_only=True)
class Finding:
    """One problem.

    kind: name of its rule. title, more: what is wrong, and its figures and reasons; together a
    sentence without its full stop.
    subject: what has the trouble, or causes it.
    because: subjects that it may come from, the nearest first. explains: subjects whose trouble
    comes of this finding, besides `subject`.
    hurt: clients that suffer from it. link: what a reader opens; None: `subject`. node: path of a
    node of the tree to open instead; empty: none.
    age_s: since it began, as facts say; None: unknown. ended_ago_s: since it ended; None: it lasts.
    consequences: findings that come of this one.
    """

    kind: str
    title: str
    more: str = ""
    subject: Subject
    severity: Severity
    because: tuple[Subject, ...] = ()
    explains: tuple[Subject, ...] = ()
    hurt: int = 0
    link: Subject | None = None
    node: str = ""
    age_s: float | None = None
    ended_ago_s: float | None = None
    consequences: tuple["Finding", ...] = ()

    @property
    def key(self) -> tuple[str, Subject]:
        """Identity of the problem, from one moment to the next."""
        return self.kind, self.subject

    @property
    def words(self) -> str:
        """Whole sentence."""
        return f"{self.title}{self.more}"
