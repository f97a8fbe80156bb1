"""Files with settings of clients."""

from collections.abc import Callable
from pathlib import Path

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.property_files import read_java, read_librdkafka

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    path = tmp_path / "client.conf"

    def write_text(text: str) -> str:
        path.write_text(text)
        return str(path)

    return write_text


def test_properties_of_java_keep_their_names(write: Write) -> None:
    path = write("# a\nbootstrap.servers=h:1,\\\n  h:2\nlinger.ms: 5\ngroup.id g\n")

    assert read_java(path) == {
        "bootstrap.servers": "h:1,h:2",
        "linger.ms": "5",
        "group.id": "g",
    }


def test_unknown_name_is_an_error_with_its_line_and_the_nearest(write: Write) -> None:
    with pytest.raises(CommandFailedError, match=r"conf:2: lingr\.ms: no such.*mean linger\.ms\?"):
        read_java(write("acks=1\nlingr.ms=1"))
    with pytest.raises(CommandFailedError, match=r"conf:1: .*mean metadata\.broker\.list\?"):
        read_librdkafka(write("metadata.broker.lst=h:1"))


def test_settings_of_librdkafka_have_the_names_of_java(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
        # kcat
        metadata.broker.list = h:1
        topic.auto.offset.reset=smallest
        queue.buffering.max.ms=5
        compression.codec=zstd
        debug=all
    """

    assert read_librdkafka(write(text)) == {
        "bootstrap.servers": "h:1",
        "auto.offset.reset": "earliest",
        "linger.ms": "5",
        "compression.type": "zstd",
    }
    assert "conf:7: debug has no effect" in capsys.readouterr().err


def test_line_without_a_value_is_an_error_that_does_not_repeat_it(write: Write) -> None:
    with pytest.raises(CommandFailedError, match="conf:1: want name=value") as failure:
        read_librdkafka(write("secret"))
    assert "secret" not in str(failure.value)


def test_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="No such file"):
        read_java(str(tmp_path / "none"))


def test_stores_of_librdkafka_are_those_of_java(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("CA")
    file = tmp_path / "a.config"
    file.write_text(
        f"security.protocol=ssl\nssl.ca.location={ca}\nssl.certificate.pem=C\nssl.key.pem=K\n"
    )

    assert read_librdkafka(str(file)) == {
        "security.protocol": "ssl",
        "ssl.truststore.certificates": "CA",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.certificate.chain": "C",
        "ssl.keystore.key": "K",
        "ssl.keystore.type": "PEM",
    }
    file.write_text(f"ssl.key.location={tmp_path}/none\n")
    with pytest.raises(CommandFailedError, match="none: No such file"):
        read_librdkafka(str(file))


def test_tokens_of_librdkafka_are_those_of_java(write: Write) -> None:
    text = """
        sasl.mechanism=OAUTHBEARER
        sasl.oauthbearer.method=OIDC
        sasl.oauthbearer.client.id=me
        sasl.oauthbearer.extensions=team=a, trace=b=c
    """

    assert read_librdkafka(write(text)) == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        ' required extension_team="a" extension_trace="b=c";',
    }
    with pytest.raises(CommandFailedError, match=r"conf:1: sasl\.oauthbearer\.method: want oidc"):
        read_librdkafka(write("sasl.oauthbearer.method=default"))
