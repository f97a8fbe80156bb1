"""Facts of connections and of the clients behind them."""

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Wait


@frozen(kw_only=True)
class ConnectionFacts:
    """One connection.

    id: as in the log. unsent_bytes: of answers that the client has not read; unsent_s: since it
    last took some of them. waits: why it is not read from (quota, full channel, memory, ...), and
    why it is not written to. age_s, idle_s: since it was opened, since its last bytes.
    received_bytes, sent_bytes: that have arrived here and at the client; None: not counted, as they
    cost a call of the system for each connection. peer: host and port of the client. requests: so
    far.
    """

    id: str
    plane: str
    listener: str
    processor: str
    host: str
    client_id: str
    software: str
    principal: str
    age_s: float
    idle_s: float | None
    in_flight: int
    unsent_bytes: int
    unsent_s: float | None
    received_bytes: int | None
    sent_bytes: int | None
    waits: tuple[Wait, ...] = ()
    peer: str = ""
    requests: int = 0


@frozen
class ConnectionSearch:
    """Connections that a search finds. total: of which `rows` has the first."""

    rows: tuple[ConnectionFacts, ...]
    total: int
