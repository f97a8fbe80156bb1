"""SaslHandshake (key 17): rejected once a connection may ask anything.

Never waits. Before that the connection's authenticator takes this request, and no handler sees it
(`trio_kafka.network.authentication`). Needs no permission. Source: KafkaApis of Apache Kafka 4.4.0.
"""

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context


@api(SaslHandshakeRequest)
def sasl_handshake(request: SaslHandshakeRequest, context: Context) -> SaslHandshakeResponse:
    del request, context
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
