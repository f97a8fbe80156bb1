"""Send each new user one mail, in the order in which they came."""

from collections.abc import Callable

from confluent_kafka import Consumer, Producer


def register(bootstrap: str, *users: str) -> None:
    """Write users to the topic `users`. Raises RuntimeError if one was not stored."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for user in users:
        producer.produce("users", user.encode())
    if producer.flush(10):
        raise RuntimeError("not all users were stored")


class WelcomeMail:
    """Reads `users`. A user counts as welcomed, by a committed offset, when the mail was sent."""

    def __init__(self, bootstrap: str, send: Callable[[str], None]) -> None:
        self._send = send
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "welcome-mail",
                "client.id": "welcome-mail",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe(["users"])

    def __enter__(self) -> "WelcomeMail":
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()

    def welcome_next(self, timeout_s: float = 10) -> str:
        """Welcome the next user, and return the name. Raises TimeoutError if there is none."""
        record = self._consumer.poll(timeout_s)
        if record is None:
            raise TimeoutError("no user came")
        user = (record.value() or b"").decode()
        self._send(user)
        self._consumer.commit(record, asynchronous=False)
        return user
