import json
import re

from trio_kafka.cli.version import version


def test_version_is_one_line_with_the_versions_of_trio_kafka_and_kafka(capsys):
    version()

    assert re.fullmatch(
        r"trio-kafka \d+\.\d+\.\S+ \(Kafka 4\.4; records: (Python|compiled)( \(.+\))?\)\n",
        capsys.readouterr().out,
    )


def test_version_json_has_both_versions(capsys):
    version(json=True)

    result = json.loads(capsys.readouterr().out)
    assert re.fullmatch(r"\d+\.\d+\.\S+", result["trio_kafka"])
    assert result["kafka"] == "4.4"
    assert re.fullmatch(r"(Python|compiled)( \(.+\))?", result["records"])
