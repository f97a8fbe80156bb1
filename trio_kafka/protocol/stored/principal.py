"""A client's principal, as brokers hand it to the controller; after its version, an int16."""

from trio_kafka.protocol.schema import boolean, data, string


@data(versions="0", flexible="0+")
class DefaultPrincipalData:
    """A user, by type and name."""

    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()
