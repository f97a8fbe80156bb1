"""Settings of a listener and its connections; names and defaults are Kafka's."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class ListenerSettings:
    """Settings of one listener.

    name, security_protocol: as in `listeners` and `listener.security.protocol.map`.
    port: 0: the system chooses.
    processors: num.network.threads.
    largest_frame: socket.request.max.bytes.
    largest_common_frame: trio.admin.request.max.bytes.
    idle_s: connections.max.idle.ms; infinite below 0.
    backlog: socket.listen.backlog.size.
    send_buffer, receive_buffer: socket.send.buffer.bytes, socket.receive.buffer.bytes; None is the
        system's choice (-1 in Kafka's settings).
    largest_buffer: trio.socket.buffer.max.bytes.
    new_connections: accepted connections that may wait for a processor.
    """

    name: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"
    host: str = "127.0.0.1"
    port: int = 0
    processors: int = 3
    largest_frame: int = 100 << 20
    largest_common_frame: int = 100 << 20
    idle_s: float = 600.0
    backlog: int = 50
    send_buffer: int | None = 100 << 10
    receive_buffer: int | None = 100 << 10
    largest_buffer: int = 2 << 20
    new_connections: int = 20

    @property
    def has_tls(self) -> bool:
        return self.security_protocol in ("SSL", "SASL_SSL")
