"""Settings of the SASL mechanism OAUTHBEARER."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import boolean, int32, int64, password, string, texts


@frozen(kw_only=True)
class OauthBearerSettings:
    """Settings of the SASL mechanism OAUTHBEARER."""

    sasl_oauthbearer_allow_unverified_audience: bool = boolean(
        False, "Tokens are taken without a check of their audience."
    )
    sasl_oauthbearer_allow_unverified_issuer: bool = boolean(
        False, "Tokens are taken without a check of their issuer."
    )
    sasl_oauthbearer_assertion_algorithm: str = string(
        "RS256", "Algorithm that signs assertions.", choices=("ES256", "RS256"), any_case=True
    )
    sasl_oauthbearer_assertion_claim_aud: str | None = string(None, "The audience of assertions.")
    sasl_oauthbearer_assertion_claim_exp_seconds: int = int32(
        300, "Validity of assertions.", low=0, high=86400
    )
    sasl_oauthbearer_assertion_claim_iss: str | None = string(None, "The issuer of assertions.")
    sasl_oauthbearer_assertion_claim_jti_include: bool = boolean(
        False, "Assertions carry an id of their own."
    )
    sasl_oauthbearer_assertion_claim_nbf_seconds: int = int32(
        60, "Time before now from which assertions are valid.", low=0, high=3600
    )
    sasl_oauthbearer_assertion_claim_sub: str | None = string(None, "The subject of assertions.")
    sasl_oauthbearer_assertion_file: str | None = string(None, "A file with a finished assertion.")
    sasl_oauthbearer_assertion_private_key_file: str | None = string(
        None, "The file of the key that signs assertions."
    )
    sasl_oauthbearer_assertion_private_key_passphrase: str | None = password(
        None, "The passphrase of that key."
    )
    sasl_oauthbearer_assertion_template_file: str | None = string(
        None, "File with the common part of assertions."
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = string(
        None, "The client id of the client credentials grant."
    )
    sasl_oauthbearer_client_credentials_client_secret: str | None = password(
        None, "The secret of the client credentials grant."
    )
    sasl_oauthbearer_clock_skew_seconds: int = int32(30, "Tolerated difference of clocks.")
    sasl_oauthbearer_expected_audience: tuple[str, ...] = texts((), "Audiences that are accepted.")
    sasl_oauthbearer_expected_issuer: str | None = string(None, "The issuer that is accepted.")
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = int64(
        3600000, "Interval between fetches of keys."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = int64(
        10000, "Longest pause before keys are asked for again."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = int64(
        100, "First pause before keys are asked for again."
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = string(None, "Address of the issuer's keys.")
    sasl_oauthbearer_scope: str | None = string(None, "The scope that is asked for.")
    sasl_oauthbearer_scope_claim_name: str = string("scope", "The claim that has the scope.")
    sasl_oauthbearer_sub_claim_name: str = string("sub", "The claim that has the subject.")
    sasl_oauthbearer_token_endpoint_url: str | None = string(None, "Address that issues tokens.")
