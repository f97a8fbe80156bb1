"""Labels of a client by which subscriptions to its metrics choose it (KIP-714)."""

from trio_kafka.introspect.texts import distinct
from trio_kafka.requests.context import Context


def client_labels(context: Context) -> dict[str, str]:
    """Return what the broker knows of a client, by the names of `config.client_metrics.LABELS`."""
    name, version = context.connection.software or ("unknown", "unknown")
    return {
        "client_id": distinct(context.client_id),  # kept for each of 16,384 clients
        "client_software_name": name,
        "client_software_version": version,
        "client_source_address": context.peer.host,
        "client_source_port": str(context.peer.port),
    }
