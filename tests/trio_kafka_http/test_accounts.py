"""Users of SCRAM and the holder of the token."""

from attrs import evolve

from tests.trio_kafka_http.kit import credential_record, image_of
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.protocol.stored.metadata.security import DelegationTokenRecord
from trio_kafka.security.delegation_tokens import DelegationTokens, password_of
from trio_kafka.security.principal import Principal
from trio_kafka.security.sasl.scram import SHA_256, SHA_512, fits
from trio_kafka_http.accounts import Accounts

WEB = Principal("User", "web")


class Metadata:
    def __init__(self, **users: str) -> None:
        self.image = image_of(users)
        self.now_ms = 0.0
        self.tokens = DelegationTokens("key", lambda: self.now_ms, bytes)


def accounts_of(metadata: Metadata, token: bytes = b"") -> Accounts:
    return Accounts(
        image=lambda: metadata.image,
        delegation_tokens=metadata.tokens,
        secret=bytes(16),
        token=token,
        holder=WEB,
    )


def test_account_of_a_user_has_the_cheaper_credential() -> None:
    metadata = Metadata(ann="secret")
    both = {("ann", n): credential_record("ann", "secret", n) for n in (1, 2)}
    strong = {("bob", 2): credential_record("bob", "secret", 2)}
    metadata.image = MetadataImage(scram=ImmutableMap({**both, **strong}))
    accounts = accounts_of(metadata)

    ann, bob = accounts.find("ann"), accounts.find("bob")

    assert ann is not None
    assert bob is not None
    assert (ann.principal, ann.mechanism, bob.mechanism) == (
        Principal("User", "ann"),
        SHA_256,
        SHA_512,
    )
    assert ann.credential is not None
    assert fits(SHA_256, "secret", ann.credential)
    assert accounts.find("eve") is None
    assert str(ann.credential.stored_key) not in repr(ann)


def test_account_ends_with_its_credential() -> None:
    metadata = Metadata(ann="secret")
    accounts = accounts_of(metadata)
    ann = accounts.find("ann")
    assert ann is not None

    assert accounts.is_current(ann)
    metadata.image = image_of({"ann": "changed"})
    assert not accounts.is_current(ann)
    metadata.image = evolve(metadata.image, scram=ImmutableMap())
    assert not accounts.is_current(ann)


def test_only_the_right_token_has_an_account_and_an_empty_one_has_none() -> None:
    accounts = accounts_of(Metadata(), b"token")

    holder = accounts.by_token(b"token")

    assert holder is not None
    assert holder.principal == WEB
    assert accounts.is_current(holder)
    assert [accounts.by_token(wrong) for wrong in (b"", b"Token", b"tokens")] == [None] * 3
    assert accounts_of(Metadata()).by_token(b"") is None


def test_stand_in_of_an_unknown_user_is_checked_like_a_credential() -> None:
    accounts = accounts_of(Metadata())

    mechanism, credential = accounts.stand_in("eve")

    assert credential.iterations == 4096
    assert not fits(mechanism, "", credential)
    assert accounts.stand_in("eve") == (mechanism, credential)


def test_delegation_token_is_its_owner_until_it_expires_or_is_removed() -> None:
    metadata = Metadata()
    accounts = accounts_of(metadata)
    record = DelegationTokenRecord(
        owner="User:ann", token_id="t1", expiration_timestamp=50, max_timestamp=100
    )
    list(metadata.tokens.apply({"t1": record}))
    password = password_of(metadata.tokens.hmac_of("t1"))

    account = accounts.by_delegation_token("t1", password)

    assert account is not None
    assert str(account.principal) == "User:ann"
    assert account.principal.token_authenticated
    assert password not in repr(account)
    assert accounts.by_delegation_token("t1", "wrong") is None
    assert accounts.by_delegation_token("t2", password) is None
    assert accounts.is_current(account)
    metadata.now_ms = 51
    assert not accounts.is_current(account)
    metadata.now_ms = 0
    list(metadata.tokens.apply({"t1": None}))
    assert not accounts.is_current(account)
