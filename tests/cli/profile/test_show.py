"""`trio-kafka profile show`."""

import pytest

from trio_kafka.cli import main


def test_show_hides_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    main(["profile", "add", "a", "--bootstrap", "h:1", "-X", "sasl.jaas.config=pass"])
    capsys.readouterr()

    for words in ([], ["--json"]):
        assert main(["profile", "show", "a", *words]) == 0
        output = capsys.readouterr().out
        assert "sasl.jaas.config" in output
        assert "pass" not in output
