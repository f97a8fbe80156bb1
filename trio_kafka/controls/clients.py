"""Clients that are connected to a broker under test."""

from collections.abc import Iterable

from trio_kafka.attributes import frozen
from trio_kafka.controls.running import HasParts
from trio_kafka.network.connection import Connection


@frozen(kw_only=True, order=True)
class Client:
    """A connected client. client_id: of its last request; empty before the first."""

    client_id: str
    peer: str
    software: str

    def __str__(self) -> str:
        name = repr(self.client_id) if self.client_id else "without a request"
        software = f" ({self.software})" if self.software else ""
        return f"{name}{software} from {self.peer}"


def connections(broker: HasParts) -> list[Connection]:
    """Return the open connections of all planes."""
    return [
        connection
        for plane in broker.parts.planes
        for processor in plane.processors
        for connection in processor.connections.values()
    ]


def connected_clients(broker: HasParts) -> list[Client]:
    """Return the clients of all connections, sorted."""
    figures: Iterable[dict[str, object]] = (
        dict(connection.figures()) for connection in connections(broker)
    )
    return sorted(
        Client(
            client_id=str(row["client_id"]),
            peer=str(row["peer"]),
            software=str(row["software"] or ""),
        )
        for row in figures
    )
