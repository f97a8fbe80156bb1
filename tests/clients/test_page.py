import re

from tests.clients.catalogue import CLIENTS, STEPS
from tests.clients.page import PAGE, notes, page
from tests.project.tree import ROOT


def test_the_clients_page_equals_its_generated_text() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.clients.page"


def test_the_clients_page_lists_every_step() -> None:
    steps = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines()}

    assert steps >= STEPS


def test_each_test_that_the_page_names_for_logins_exists() -> None:
    rows = PAGE.read_text().partition("## Logins over SASL_SSL")[2].partition("\n## ")[0]
    names = re.findall(r"`(test_\w+\.py)`", rows)

    assert len(names) >= 10
    assert [name for name in names if not (ROOT / "tests" / "clients" / name).is_file()] == []


def test_every_missing_step_of_a_client_has_its_reason_in_the_notes() -> None:
    for client in CLIENTS.values():
        assert set(client.lacks) <= STEPS
        assert set(client.lacks.values()) <= set(notes(client))
