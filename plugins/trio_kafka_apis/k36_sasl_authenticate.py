"""SaslAuthenticate (key 36): rejected once a connection may ask anything.

Never waits. Before that the connection's authenticator takes this request, and no handler sees it
(`trio_kafka.network.authentication`). Needs no permission. Source: KafkaApis of Apache Kafka 4.4.0.
"""

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context


@api(SaslAuthenticateRequest)
def sasl_authenticate(
    request: SaslAuthenticateRequest, context: Context
) -> SaslAuthenticateResponse:
    del request, context
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
