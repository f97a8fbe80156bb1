import re

import pytest

from trio_kafka.cli.plugin.template import FILES


@pytest.mark.parametrize("path", FILES)
def test_no_other_word_is_to_be_replaced(path: str) -> None:
    assert set(re.findall(r"@([A-Z]+)@", FILES[path])) <= {"NAME", "MODULE", "CLASS", "KEY"}


def test_it_has_code_tests_and_words() -> None:
    assert {path.rpartition(".")[2] for path in FILES} == {"py", "md", "toml"}
    assert any(path.startswith("tests/") for path in FILES)
