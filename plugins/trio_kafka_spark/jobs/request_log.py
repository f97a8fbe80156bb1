"""Lines of the request log as columns.

The broker writes them with `trio.request.log=topic`; the form is that of Apache Kafka's request log
(KIP-673), whose lines are read too: what they do not have is null.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

_LINE: Final = (
    "requestHeader: struct<requestApiKey: int, requestApiVersion: int, correlationId: bigint,"
    " clientId: string, requestApiKeyName: string>,"
    " requestSizeBytes: bigint, responseSizeBytes: bigint, errorCode: int, connection: string,"
    " totalTimeMs: double, requestQueueTimeMs: double, localTimeMs: double, remoteTimeMs: double,"
    " throttleTimeMs: double, responseQueueTimeMs: double, sendTimeMs: double,"
    " pluginTimeMs: double, securityProtocol: string, principal: string, listener: string,"
    " clientInformation: struct<softwareName: string, softwareVersion: string>"
)
# Hops of a request, in the order of its way, and the fields that have them.
HOPS: Final = {
    "queue_ms": "requestQueueTimeMs",
    "local_ms": "localTimeMs",
    "remote_ms": "remoteTimeMs",
    "response_queue_ms": "responseQueueTimeMs",
    "send_ms": "sendTimeMs",
    "throttle_ms": "throttleTimeMs",
    "plugin_ms": "pluginTimeMs",
}


def parsed(records: DataFrame) -> DataFrame:
    """Return one row a request; records that are no such lines are left out.

    records: rows with the columns value (binary or string) and timestamp, of the request log's
        topic (`trio.request.log.topic`).
    Columns: timestamp (when the line was written), client_id, api (such as PRODUCE), version,
    error_code, request_bytes, response_bytes, total_ms, one column in ms for each of HOPS,
    listener, principal, connection, software_name, software_version.
    """
    line = sf.from_json(sf.col("value").cast("string"), f"struct<{_LINE}>")
    rows = records.select("timestamp", line.alias("line"))
    return rows.where("line.requestHeader is not null").select(
        "timestamp",
        sf.col("line.requestHeader.clientId").alias("client_id"),
        sf.col("line.requestHeader.requestApiKeyName").alias("api"),
        sf.col("line.requestHeader.requestApiVersion").alias("version"),
        sf.col("line.errorCode").alias("error_code"),
        sf.col("line.requestSizeBytes").alias("request_bytes"),
        sf.col("line.responseSizeBytes").alias("response_bytes"),
        sf.col("line.totalTimeMs").alias("total_ms"),
        *(sf.col(f"line.{field}").alias(name) for name, field in HOPS.items()),
        sf.col("line.listener").alias("listener"),
        sf.col("line.principal").alias("principal"),
        sf.col("line.connection").alias("connection"),
        sf.col("line.clientInformation.softwareName").alias("software_name"),
        sf.col("line.clientInformation.softwareVersion").alias("software_version"),
    )
