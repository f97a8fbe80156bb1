"""Error of an exchange that does not authenticate its client."""


class AuthenticationError(Exception):
    """The client is not the user that it names, or its message is malformed.

    reason: without credentials. is_public: whether the client is told; otherwise it learns only
    that its credentials are invalid, as it does in Kafka for an error within a mechanism.
    """

    def __init__(self, reason: str, *, is_public: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_public = is_public
