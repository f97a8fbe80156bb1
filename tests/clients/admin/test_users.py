"""Users of SCRAM by the admin client."""

import pytest

from tests.clients.admin.kit import Cluster
from tests.clients.admin.test_opening import admin_of
from trio_kafka.clients.admin.users import (
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    alter_user_scram_credentials,
    scram_upsertion,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages import k51_alter_user_scram_credentials as k51
from trio_kafka.security.sasl.scram import SHA_512, salted_password
from trio_kafka.testing.simulate import simulate

SHA_256_INFO = ScramCredentialInfo("SCRAM-SHA-256", 4096)
SHA_512_INFO = ScramCredentialInfo("SCRAM-SHA-512", 8192)


def test_a_request_has_the_salted_password_and_not_the_password():
    response = k51.AlterUserScramCredentialsResponse(
        results=[k51.AlterUserScramCredentialsResult("ann")]
    )
    cluster = Cluster({k51.AlterUserScramCredentialsRequest: lambda _request: response})
    upsertion = scram_upsertion("ann", "s3cret", mechanism="SCRAM-SHA-512", iterations=8192)

    assert cluster.run(alter_user_scram_credentials([upsertion]))["ann"] is None

    ((_, request),) = cluster.requests
    (row,) = request.upsertions
    assert (row.name, row.mechanism, row.iterations) == ("ann", 2, 8192)
    assert row.salted_password == salted_password(SHA_512, "s3cret", salt=row.salt, iterations=8192)
    assert "s3cret" not in repr(request) + repr(upsertion)
    assert repr(row.salted_password)[2:-1] not in repr(upsertion)


def test_a_credential_of_an_unknown_mechanism_or_without_a_password_is_refused():
    with pytest.raises(ValueError, match="'MD5' is no mechanism"):
        scram_upsertion("ann", "pw", mechanism="MD5")
    with pytest.raises(ValueError, match="empty password"):
        scram_upsertion("ann", "")


@simulate(seeds=1)
async def test_users_are_created_described_and_deleted(sim):
    async with admin_of(sim) as admin:
        upsertions = [
            scram_upsertion("ann", "pw"),
            scram_upsertion("bob", "pw"),
            scram_upsertion("eve", "pw", iterations=1),
        ]
        altered = await admin.alter_user_scram_credentials(upsertions)
        assert list(altered.values_by_item) == ["ann", "bob"]
        assert altered.errors["eve"].code is ErrorCode.UNACCEPTABLE_CREDENTIAL

        second = scram_upsertion("ann", "pw", mechanism="SCRAM-SHA-512", iterations=8192)
        twice = await admin.alter_user_scram_credentials([second, scram_upsertion("ann", "other")])
        assert twice.errors["ann"].code is ErrorCode.DUPLICATE_RESOURCE
        assert (await admin.alter_user_scram_credentials([second]))["ann"] is None

        described = await admin.describe_user_scram_credentials()
        assert described.all() == {"ann": [SHA_256_INFO, SHA_512_INFO], "bob": [SHA_256_INFO]}
        some = await admin.describe_user_scram_credentials(["bob", "eve"])
        assert some["bob"] == [SHA_256_INFO]
        assert some.errors["eve"].code is ErrorCode.RESOURCE_NOT_FOUND

        deletion = UserScramCredentialDeletion("ann", "SCRAM-SHA-256")
        unknown = UserScramCredentialDeletion("bob", "MD5")
        deleted = await admin.alter_user_scram_credentials([deletion, unknown])
        assert deleted["ann"] is None
        assert deleted.errors["bob"].code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert (await admin.describe_user_scram_credentials(["ann"]))["ann"] == [SHA_512_INFO]
