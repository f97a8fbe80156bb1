import re

from trio_kafka.cli.version import text, version


def test_the_version_is_one_line_with_ours_and_kafkas(capsys):
    version()

    assert capsys.readouterr().out == f"{text()}\n"
    assert re.fullmatch(r"trio-kafka \d+\.\d+\.\S+ \(Kafka 4\.4\)", text())
