"""docs/how-to/administer-with-trio.md: its table has every call."""

import re

from tests.project.tree import ROOT
from trio_kafka.clients.admin.calls.operation import Operation
from trio_kafka.clients.admin.operations import AdminOperations

GUIDE = (ROOT / "docs" / "how-to" / "administer-with-trio.md").read_text()


def test_table_of_the_guide_has_every_call() -> None:
    table = GUIDE[GUIDE.index("| about | calls |") : GUIDE.index("`help(AdminOperations")]
    operations = vars(AdminOperations).items()

    calls = {name for name, value in operations if isinstance(value, Operation)}

    assert calls - set(re.findall(r"`(\w+)`", table)) == set()
