"""Credentials of SCRAM, as they are in the metadata."""

from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.metadata.scram_users import scram_credential
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.security.sasl.scram import SHA_256, SHA_512, ScramCredential


def test_credential_is_that_of_the_user_and_mechanism() -> None:
    record = UserScramCredentialRecord("ann", SHA_256.number, b"salt", b"stored", b"server", 4096)
    image = MetadataImage(scram=ImmutableMap({("ann", SHA_256.number): record}))

    assert scram_credential(image, SHA_256, "ann") == ScramCredential(
        salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=4096
    )
    assert scram_credential(image, SHA_512, "ann") is None
    assert scram_credential(image, SHA_256, "bob") is None
