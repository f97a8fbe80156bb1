"""Every page of the admin UI as it looks, from a phone to a wide screen, light and dark, with names
that clients chose to do harm. One broker and one browser serve all tests.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from selenium.webdriver import Chrome

from tests.e2e.browser import browser, errors_of
from tests.e2e.views import (
    SCHEMES,
    WIDTHS,
    axe_source,
    overflow,
    policy_reports,
    record_policy_reports,
    reset_view,
    serious_violations,
    set_view,
    take_picture,
)
from trio_kafka.testing.processes import BrokerProcess, broker_process, unused_port
from trio_kafka_admin.discovery import all_pages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGES = [page.name for page in all_pages()]
PICTURES = Path(os.environ.get("TRIO_KAFKA_PICTURES", "build/admin-ui"))
SCRIPT = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
HOSTILE = (
    SCRIPT.encode(),
    b"control\0\x1b[31m\a\r\nends",
    "\u202eright to left\u202d \u0645\u0631\u062d\u0628\u0627".encode(),
    b"long" * 7500,
    b"\xe2\x28 no text",
)


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the admin UI of a broker with clients, groups and hostile names."""
    http = f"http://127.0.0.1:{unused_port()}"
    settings = (f"plugin.http.listeners={http}", "plugin.admin.refresh.ms=200")
    with (
        broker_process(tmp_path_factory.mktemp("broker"), *settings) as broker,
        ExitStack() as stack,
    ):
        for number, name in enumerate(("orders", "billing")):
            stack.enter_context(traffic(broker, topic=name, client=f"shop-{number}"))
        stack.enter_context(traffic(broker, topic="news", client=SCRIPT, group=SCRIPT))
        for client_id in HOSTILE:
            stack.enter_context(connected(broker, client_id))
        yield f"{http}/admin"


@contextmanager
def connected(broker: BrokerProcess, client_id: bytes) -> Iterator[None]:
    """A connection that has asked for ApiVersions with this client id."""
    head = struct.pack(">hhih", 18, 0, 1, len(client_id)) + client_id
    with socket.create_connection(broker.address, 10) as connection:
        connection.sendall(struct.pack(">i", len(head)) + head)
        connection.recv(4096)  # empty if the broker refuses such a text
        yield


@contextmanager
def traffic(
    broker: BrokerProcess, topic: str, client: str, group: str = "readers"
) -> Iterator[None]:
    """A producer and a member of a group while the block runs."""
    address = {"bootstrap.servers": "{}:{}".format(*broker.address), "client.id": client}
    producer = Producer(address)
    for _ in range(20):
        producer.produce(topic, b"record" * 20)
    producer.flush()
    consumer = Consumer(address | {"group.id": f"{topic}-{group}", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        assert consumer.poll(30) is not None
        yield
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def driver() -> Iterator[Chrome]:
    with browser() as started:
        record_policy_reports(started)
        yield started
        reset_view(started)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_the_screen_and_is_accessible(
    driver: Chrome, ui: str, width: int, scheme: str
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    axe = (
        axe_source() if (width, scheme) in ((390, "light"), (1280, "dark"), (1920, "light")) else ""
    )
    errors_of(driver)
    faults = []
    set_view(driver, width, scheme)
    for page in PAGES:
        driver.get(f"{ui}/{page}")
        take_picture(driver, PICTURES / f"{page}-{width}-{scheme}.png", width, scheme)
        faults += [(page, fault) for fault in overflow(driver)]
        faults += [(page, fault) for fault in policy_reports(driver)]
        if axe:
            faults += [(page, fault) for fault in serious_violations(driver, axe)]

    assert faults == []
    assert errors_of(driver) == []
