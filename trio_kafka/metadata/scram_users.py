"""Credentials of SCRAM in the metadata, as the security package knows them."""

from trio_kafka.metadata.image import MetadataImage
from trio_kafka.security.sasl.scram import ScramCredential, ScramMechanism


def scram_credential(
    image: MetadataImage, mechanism: ScramMechanism, user: str
) -> ScramCredential | None:
    """Return the credential of a user for a mechanism, or None."""
    record = image.scram.get((user, mechanism.number))
    if record is None:
        return None
    return ScramCredential(
        salt=bytes(record.salt),
        stored_key=bytes(record.stored_key),
        server_key=bytes(record.server_key),
        iterations=record.iterations,
    )
