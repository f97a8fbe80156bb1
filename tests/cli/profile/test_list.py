"""`trio-kafka profile list`."""

import json

import pytest

from trio_kafka.cli import main


def test_list_shows_addresses_and_the_profile_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    main(["profile", "add", "a", "--bootstrap", "h:1,h:2"])
    main(["profile", "use", "a"])
    capsys.readouterr()

    assert main(["profile", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["a", "h:1,h:2", "yes"]
    assert main(["profile", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "profiles": [{"name": "a", "bootstrap": "h:1,h:2", "used": True}]
    }
