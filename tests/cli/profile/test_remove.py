"""`trio-kafka profile remove`."""

from trio_kafka.cli import main
from trio_kafka.cli.saved_profiles import read_profiles


def test_remove_takes_all_profiles_or_none() -> None:
    for name in ("a", "b", "c"):
        main(["profile", "add", name, "--bootstrap", "h:1"])

    assert main(["profile", "remove", "a", "x"]) == 2
    assert set(read_profiles().profiles) == {"a", "b", "c"}
    assert main(["profile", "remove", "a", "b", "a"]) == 0
    assert set(read_profiles().profiles) == {"c"}
