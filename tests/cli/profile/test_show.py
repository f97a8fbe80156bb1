"""`trio-kafka profile show`."""

import pytest

from trio_kafka.cli import main


def test_show_hides_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required password="hidden";'
    assert (
        main(["profile", "add", "a", "--bootstrap", "h:1", "-X", f"sasl.jaas.config={login}"]) == 0
    )
    capsys.readouterr()

    for words in ([], ["--json"]):
        assert main(["profile", "show", "a", *words]) == 0
        output = capsys.readouterr().out
        assert "sasl.jaas.config" in output
        assert "hidden;" not in output.replace('"', "")
