"""How many failed logins are allowed, and for whom."""

from trio_kafka_http.failed_logins import FailedLogins

MOST_KEYS = 1024


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_user_of_an_address_has_ten_attempts_and_gets_one_back_in_six_seconds() -> None:
    clock = Clock()
    failed = FailedLogins(clock)

    for _ in range(10):
        assert failed.wait_s("10.0.0.1", "ann") == 0
        failed.take("10.0.0.1", "ann")

    assert failed.wait_s("10.0.0.1", "ann") == 6
    assert failed.wait_s("10.0.0.1", "bob") == failed.wait_s("10.0.0.2", "ann") == 0
    clock.now = 6.0
    assert failed.wait_s("10.0.0.1", "ann") == 0
    failed.take("10.0.0.1", "ann")
    assert failed.wait_s("10.0.0.1", "ann") == 6


def test_an_address_has_twenty_attempts_for_all_users() -> None:
    failed = FailedLogins(Clock())

    for number in range(20):
        assert failed.wait_s("10.0.0.1", "new") == 0
        failed.take("10.0.0.1", f"user-{number}")

    assert failed.wait_s("10.0.0.1", "new") == 6
    assert failed.wait_s("::ffff:10.0.0.1", "new") == 6


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    failed = FailedLogins(Clock())

    for number in range(20):
        failed.take(f"2001:db8::{number:x}", f"user-{number}")

    assert failed.wait_s("2001:db8::ffff", "new") == 6
    assert failed.wait_s("2001:db8:0:1::1", "new") == 0


def test_right_password_gives_its_attempt_back() -> None:
    failed = FailedLogins(Clock())

    for _ in range(100):
        failed.take("10.0.0.1", "ann")
        failed.take("10.0.0.1", "ann", -1)

    assert failed.wait_s("10.0.0.1", "ann") == 0


def test_table_is_bounded() -> None:
    failed = FailedLogins(Clock())

    for number in range(3 * MOST_KEYS):
        failed.take(f"10.0.{number >> 8}.{number & 255}", "x" * 1000)

    assert failed.figures() == {"addresses": MOST_KEYS, "users": MOST_KEYS, "bound": MOST_KEYS}
