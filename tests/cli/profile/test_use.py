"""`trio-kafka profile use`."""

import pytest

from trio_kafka.cli import main
from trio_kafka.cli.broker_options import default_bootstrap


def test_profile_in_use_is_the_default_until_none_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["profile", "add", "a", "--bootstrap", "h:1"])

    assert main(["profile", "use", "a"]) == 0
    assert default_bootstrap() == "h:1"
    assert main(["profile", "use", "--none"]) == 0
    assert default_bootstrap() == "127.0.0.1:9092"
    assert main(["profile", "use", "b"]) == 2
    assert main(["profile", "use"]) == 2
    assert "give a NAME, or --none" in capsys.readouterr().err
