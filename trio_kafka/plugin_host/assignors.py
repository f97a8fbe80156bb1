"""Guard around a consumer-group assignor of a plugin."""

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
    """Assignor of a plugin. Its exceptions fail the plugin, except AssignorError, an ordinary
    answer.
    """

    def __init__(self, assignor: Assignor, owner: Owner) -> None:
        """Wrap an assignor. Raises TypeError if it has no name."""
        name: object = assignor.name
        if not isinstance(name, str) or not name:
            raise TypeError(f"{assignor!r} has no `name`: want the name that group members ask for")
        self.name = name
        self._assignor = assignor
        self._owner = owner

    def assign(self, group: GroupSpec) -> Steps[GroupAssignment]:
        """Assign as a request in flight of the plugin.

        Raises AssignorError, or an Exception that was reported to the plugin.
        """
        in_flight = self._owner.in_flight
        in_flight.enter()
        try:
            answer = self._assignor.assign(group)
            return (yield from answer) if isinstance(answer, Generator) else answer
        except (AssignorError, GeneratorExit):
            raise
        except BaseException as error:
            raise contained(error, self._owner, f"assignor {self.name}") from error
        finally:
            in_flight.leave()
