"""Principal of a client, as brokers forward it to the controller after an int16 version."""

from trio_kafka.protocol.schema import boolean, data, string


@data(versions="0", flexible="0+")
class DefaultPrincipalData:
    """User by type and name."""

    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()
