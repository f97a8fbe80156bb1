"""New certificates and authorities for a broker that serves clients."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

from tests.apis.configs import BROKER, SET, changes_of
from tests.certificates import now
from trio_kafka.controls.ask import ask
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from trio_kafka.security.tls.development import LOCAL_HOSTS, Identity
from trio_kafka.testing.kafka.threaded import Kafka

OWN = "listener.name.ssl.ssl."
_PAUSE_S = 0.1


def serving_settings(authority: Identity, **others: str) -> dict[str, str]:
    """Settings of the listener SSL. others: with underscores for dots, without `ssl.`."""
    server = authority.issue(now(), "broker", hosts=LOCAL_HOSTS)
    settings = {
        "keystore.type": "PEM",
        "keystore.key": server.key_pem(),
        "keystore.certificate.chain": server.pem,
        "truststore.type": "PEM",
        "truststore.certificates": authority.pem,
        **{name.replace("_", "."): text for name, text in others.items()},
    }
    return {OWN + name: text for name, text in settings.items()}


def swap(kafka: Kafka, authority: Identity, number: int) -> None:
    """Give the broker a new certificate, and one more authority to trust."""
    other = Identity.authority(now(), f"other {number}")
    settings = serving_settings(authority, truststore_certificates=authority.pem + other.pem)
    changes = changes_of(BROKER, "1", *((name, SET, text) for name, text in settings.items()))
    request = IncrementalAlterConfigsRequest([changes])
    answer = kafka.thread.call(partial(ask, kafka.broker, request))
    assert [(row.error_code, row.error_message) for row in answer.responses] == [(0, None)]


@contextmanager
def swapping(kafka: Kafka, authority: Identity) -> Iterator[list[int]]:
    """Swap again and again during the block. Yields the numbers of the swaps so far."""
    done, is_over = list[int](), threading.Event()
    failures = list[BaseException]()

    def run() -> None:
        try:
            for number in count():
                if is_over.wait(_PAUSE_S):
                    return
                swap(kafka, authority, number)
                done.append(number)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="swaps")
    thread.start()
    try:
        yield done
    finally:
        is_over.set()
        thread.join()
    assert failures == []
