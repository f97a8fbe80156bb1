"""Values of sources show no secret."""

from trio_kafka.security.tokens.sources import (
    GivenToken,
    TokenEndpoint,
    TokenFile,
    UnsecuredClaims,
)


def test_no_text_of_a_source_shows_a_secret() -> None:
    sources = (
        GivenToken("s3cret"),
        TokenFile("/run/token"),
        UnsecuredClaims({"unsecuredLoginStringClaim_sub": "s3cret"}),
        TokenEndpoint(url="https://issuer.example/", client_id="me", client_secret="s3cret"),
    )

    assert "s3cret" not in f"{sources!r}{list(map(str, sources))}"
    assert "/run/token" in repr(sources)
    assert "issuer.example" in repr(sources)
