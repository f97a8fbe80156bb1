from tests.clients.catalogue import CLIENTS, STEPS
from tests.clients.page import PAGE, notes, page


def test_the_page_is_as_it_would_be_written() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.clients.page"


def test_the_page_tells_every_step() -> None:
    told = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines()}

    assert told >= STEPS


def test_what_a_client_lacks_is_a_step_and_has_its_reason_in_the_notes() -> None:
    for client in CLIENTS.values():
        assert set(client.lacks) <= STEPS
        assert set(client.lacks.values()) <= set(notes(client))
