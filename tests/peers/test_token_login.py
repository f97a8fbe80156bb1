"""Token of a client: kept, renewed in time, and asked for again. Time is a number."""

import base64
import json

import pytest
from attrs import Factory, define

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.peers.blocking_tokens import TokenRefusedError
from trio_kafka.peers.token_login import TokenKeeper, wait_token
from trio_kafka.security.tokens.bearer import BearerToken
from trio_kafka.security.tokens.login import TokenLogin
from trio_kafka.security.tokens.sources import TokenFile


def jwt(expires_s: float, subject: str = "ann") -> str:
    claims = json.dumps({"sub": subject, "iat": 0, "exp": expires_s})
    return f"a.{base64.urlsafe_b64encode(claims.encode()).decode()}.c"


@define
class Source:
    """Answers of a source, one for each attempt, and the time, which each pause moves."""

    answers: list[str | Exception]
    now_s: float = 1000.0
    pauses: list[float] = Factory(list)

    def keeper(self, **more: float) -> TokenKeeper:
        return TokenKeeper(
            login=TokenLogin(source=TokenFile("/token"), **more),
            wall=lambda: self.now_s,
            now=lambda: self.now_s,
            chance=lambda: 0.0,
        )

    def renew(self, keeper: TokenKeeper) -> BearerToken:
        """Make the attempts that the keeper wants."""
        attempts = keeper.renewal()
        try:
            attempt = next(attempts)
            while True:
                self.pauses.append(attempt.after_s)
                self.now_s += attempt.after_s
                answer = self.answers.pop(0)
                if isinstance(answer, Exception):
                    attempt = attempts.throw(answer)
                else:
                    attempt = attempts.send(answer)
        except StopIteration as end:
            token: BearerToken = end.value
            return token


def test_a_token_is_kept_until_it_is_due():
    source = Source([jwt(4600), jwt(9000)])
    keeper = source.keeper()
    assert keeper.present is None

    first = source.renew(keeper)

    source.now_s = 3679.0
    assert keeper.present == first
    source.now_s = 3681.0  # 0.8 of its 4,600 seconds
    assert keeper.present is None
    assert source.renew(keeper).expires_s == 9000
    assert (keeper.renewals, keeper.failures) == (2, 0)


def test_failed_attempts_are_repeated_after_pauses_that_double():
    source = Source([OSError("refused")] * 3 + [jwt(4600)])

    assert source.renew(source.keeper()).subject == "ann"
    assert source.pauses == pytest.approx([0.0, 0.1, 0.2, 0.4])


def test_retries_end_with_their_time_and_the_last_error():
    source = Source([OSError("refused")] * 20)

    with pytest.raises(OSError, match=r"^no token: refused$"):
        source.renew(source.keeper(backoff_s=1.0, retries_s=5.0))

    assert source.pauses == [0.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "answer",
    [TokenRefusedError("https://issuer.example: answered 401"), "opaque", jwt(5000, subject="")],
)
def test_refusal_and_a_malformed_token_fail_the_login_at_once(answer):
    source = Source([answer])

    with pytest.raises(KafkaError, match="no token: ") as failed:
        source.renew(source.keeper())

    assert failed.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "opaque" not in str(failed.value)


@pytest.mark.parametrize("failure", [TokenRefusedError("answered 400"), "opaque"])
def test_old_token_is_used_while_it_is_valid_and_the_source_left_alone(failure):
    source = Source([jwt(4600), failure, failure])
    keeper = source.keeper()
    first = source.renew(keeper)
    source.now_s = 4000.0

    assert source.renew(keeper) == first
    source.now_s = 4009.0
    assert keeper.present == first
    source.now_s = 4011.0
    assert keeper.present is None
    source.now_s = 4601.0
    with pytest.raises(KafkaError):
        source.renew(keeper)
    assert keeper.failures == 2
    assert str(keeper.failure()).startswith("SASL_AUTHENTICATION_FAILED: no token")


def test_token_that_the_own_clock_calls_expired_is_presented_once():
    source = Source([jwt(999)])
    keeper = source.keeper()

    assert source.renew(keeper).expires_s == 999
    assert keeper.present is None


def test_blocking_wait_makes_one_attempt_while_the_old_token_is_valid(tmp_path):
    path = tmp_path / "token"
    path.write_text(jwt(5000))
    now = [1000.0]
    keeper = TokenKeeper(
        login=TokenLogin(source=TokenFile(str(path))),
        wall=lambda: now[0],
        now=lambda: now[0],
        chance=lambda: 0.0,
    )
    first = wait_token(keeper, lambda _: None)
    path.unlink()
    now[0] = 4900.0

    assert wait_token(keeper, lambda _: None) is first
    assert keeper.failures == 1


def test_one_attempt_ends_with_its_error():
    source = Source([OSError("refused"), jwt(5000)])
    attempts = source.keeper().renewal(once=True)
    next(attempts)

    with pytest.raises(OSError, match=r"^no token: refused$"):
        attempts.throw(OSError("refused"))


def test_blocking_wait_sleeps_between_attempts(tmp_path):
    path = tmp_path / "token"
    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        path.write_text(jwt(5000))

    keeper = TokenKeeper(
        login=TokenLogin(source=TokenFile(str(path))),
        wall=lambda: 1000.0,
        now=lambda: 1000.0,
        chance=lambda: 0.0,
    )

    token = wait_token(keeper, sleep)

    assert wait_token(keeper, sleep) is token
    assert sleeps == [0.0]
