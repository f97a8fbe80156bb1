"""Error of an exchange that does not authenticate its client."""


class AuthenticationError(Exception):
    """The client is not the user that it names, or its message is malformed.

    reason: for the log, without credentials. is_public: the client gets it as well.
    answer: text for the client; None: it learns only that its credentials are invalid, as it does
        in Kafka for an error within a mechanism.
    """

    def __init__(self, reason: str, *, is_public: bool = False, answer: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.answer = reason if is_public else answer
