import pytest
from welcome_mail import WelcomeMail, register

from trio_kafka.testing.kafka.threaded import Kafka

pytestmark = pytest.mark.kafka(topics=["users"])


def test_each_user_gets_one_mail(kafka: Kafka) -> None:
    register(kafka.bootstrap, "ann", "bob")

    mails: list[str] = []
    with WelcomeMail(kafka.bootstrap, mails.append) as service:
        service.welcome_next()
        service.welcome_next()

    assert mails == ["ann", "bob"]
    assert kafka.group("welcome-mail").offsets == {("users", 0): 2}


def test_a_user_whose_mail_failed_gets_it_after_a_restart(kafka: Kafka) -> None:
    kafka.produce("users", "ann")

    def fail(user: str) -> None:
        raise OSError(f"no mail for {user}")

    with WelcomeMail(kafka.bootstrap, fail) as service, pytest.raises(OSError, match="ann"):
        service.welcome_next()

    mails: list[str] = []
    with WelcomeMail(kafka.bootstrap, mails.append) as service:
        service.welcome_next()
    assert mails == ["ann"]


def test_the_service_survives_a_restart_of_the_broker(kafka: Kafka) -> None:
    mails: list[str] = []
    with WelcomeMail(kafka.bootstrap, mails.append) as service:
        kafka.produce("users", "ann")
        service.welcome_next()

        kafka.restart()

        kafka.produce("users", "bob")
        service.welcome_next(timeout_s=30)
    assert mails == ["ann", "bob"]


def test_the_users_topic_forgets_them_after_a_week(kafka: Kafka) -> None:
    kafka.create_topic("recent", configs={"retention.ms": str(7 * 24 * 3_600_000)})
    kafka.produce("recent", "ann")

    kafka.advance(hours=8 * 24)

    assert kafka.records("recent") == []
