"""Metrics of clients as they travel to brokers (KIP-714): names, values, OpenTelemetry's protobuf.

Clients encode what brokers decode: `client_telemetry` is the part of a broker. `otlp` needs the
extra `telemetry`.
"""

__all__ = ["client_telemetry", "instances", "metric", "otlp", "subscriptions"]
