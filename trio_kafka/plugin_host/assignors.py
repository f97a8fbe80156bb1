"""An assignor of consumer groups that a plugin brings, behind the guard."""

from collections.abc import Generator

from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    AssignorError,
    GroupAssignment,
    GroupSpec,
)
from trio_kafka.plugin_host.guard import Owner, contained
from trio_kafka.scheduling.chunked_work import Steps


class GuardedAssignor:
    """What it raises is its plugin's failure; an AssignorError is an answer."""

    def __init__(self, assignor: Assignor, owner: Owner) -> None:
        """Raises TypeError for one without a name."""
        name: object = assignor.name
        if not isinstance(name, str) or not name:
            raise TypeError(f"{assignor!r} has no name that members could ask for")
        self.name = name
        self._assignor = assignor
        self._owner = owner

    def assign(self, group: GroupSpec) -> Steps[GroupAssignment]:
        """In the plugin's hands until its end. Raises AssignorError, or an Exception of which the
        plugin was told.
        """
        in_hand = self._owner.in_hand
        in_hand.enter()
        try:
            answer = self._assignor.assign(group)
            return (yield from answer) if isinstance(answer, Generator) else answer
        except (AssignorError, GeneratorExit):
            raise
        except BaseException as error:
            raise contained(error, self._owner, f"assignor {self.name}") from error
        finally:
            in_hand.leave()
