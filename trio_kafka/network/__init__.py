"""The network plane: moves frames between sockets and handlers, without knowing their content."""

__all__ = [
    "admission",
    "authentication",
    "authenticator",
    "channel",
    "connection",
    "handlers",
    "handshakes",
    "inflight",
    "listener",
    "listener_tls",
    "memory",
    "metered",
    "outgoing",
    "plane",
    "processor",
    "reasons",
    "request",
    "settings",
]
