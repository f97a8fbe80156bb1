"""docs/how-to/administer-with-trio.md: its programs run as tests, its table has every call."""

import re

import pytest

from tests.project.guides import Outcome
from tests.project.tree import ROOT
from trio_kafka.clients.admin.calls.operation import Operation
from trio_kafka.clients.admin.operations import AdminOperations

GUIDE = (ROOT / "docs" / "how-to" / "administer-with-trio.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_programs_in_the_guide_change_the_cluster(guides: Outcome) -> None:
    guides.check("administer")


def test_table_of_the_guide_has_every_call() -> None:
    table = GUIDE[GUIDE.index("| about | calls |") : GUIDE.index("`help(AdminOperations")]
    operations = vars(AdminOperations).items()

    calls = {name for name, value in operations if isinstance(value, Operation)}

    assert calls - set(re.findall(r"`(\w+)`", table)) == set()
