"""The page docs/reference/metrics.md, printed by `python -m trio_kafka_metrics.document`.

Also lists the beans of Kafka that this broker lacks, each with its reason; a test compares both
lists with Kafka's beans.
"""

import re
import sys
from typing import Final

from trio_kafka_metrics.collection import catalogue
from trio_kafka_metrics.metric_values import Metric

_SHARES: Final = "share groups are not served yet"
_ONE_BROKER: Final = "a single broker replicates nothing, and its in-sync set never changes"
_REJECTED: Final = "rejected batches are counted as requests and errors, not by reason"
_ONE_VOTER: Final = "a single voter sends nothing to others"
_QUEUE: Final = "the controller has no event queue: it decides under a lock"
_NO_OPS: Final = (
    "an idle controller writes nothing: the value would be the time since the last change"
)
_STOPS: Final = "such an error stops the broker"
_TIMES: Final = "not measured yet"
_CONVERSIONS: Final = "message formats are never converted"
_FORMATS: Final = "a text, or useless without Java's metrics library"

# Prefixes of the names that Strimzi's rules give Kafka's beans, and why they are missing here.
ABSENT: Final = {
    "kafka_controller_controllereventmanager_": _QUEUE,
    "kafka_controller_controllerstats_": _ONE_BROKER,
    "kafka_controller_kafkacontroller_eventqueue": _QUEUE,
    "kafka_controller_kafkacontroller_ignoredstaticvoters": _ONE_VOTER,
    "kafka_controller_kafkacontroller_lastappliedrecordlagms": _NO_OPS,
    "kafka_controller_kafkacontroller_metadataerrorcount": _STOPS,
    "kafka_controller_kafkacontroller_newactivecontrollerscount": _ONE_VOTER,
    "kafka_controller_kafkacontroller_time": "the controller is in this process: no heartbeats",
    "kafka_log_log_retentionsizein_percent": "the rules turn its keys into an unusable label",
    "kafka_log_logflushstats_": _TIMES,
    "kafka_network_requestmetrics_messageconversionstimems": _CONVERSIONS,
    "kafka_network_requestmetrics_temporarymemorybytes": _CONVERSIONS,
    "kafka_server_assignmentsmanager_": "replicas do not move between directories yet",
    "kafka_server_brokermetadatalistener_": _TIMES,
    "kafka_server_brokermetadatametrics_ignored_static_voters": _ONE_VOTER,
    "kafka_server_brokermetadatametrics_last_applied_record_lag_ms": _NO_OPS,
    "kafka_server_brokermetadatametrics_metadata_": _STOPS,
    "kafka_server_brokertopicmetrics_bytesrejected_total": _REJECTED,
    "kafka_server_brokertopicmetrics_failedshare": _SHARES,
    "kafka_server_brokertopicmetrics_invalid": _REJECTED,
    "kafka_server_brokertopicmetrics_nokeycompactedtopicrecords_total": _REJECTED,
    "kafka_server_brokertopicmetrics_reassignment": _ONE_BROKER,
    "kafka_server_brokertopicmetrics_replication": _ONE_BROKER,
    "kafka_server_brokertopicmetrics_totalshare": _SHARES,
    "kafka_server_controllerserver_": "broker and controller are one process: see the broker's",
    "kafka_server_delayedremotelistoffsetsmetrics_": "remote storage is not implemented",
    "kafka_server_fetcher": _ONE_BROKER,
    "kafka_server_kafkarequesthandlerpool_brokerrequesthandleravgidlepercent_count": _FORMATS,
    "kafka_server_kafkarequesthandlerpool_controllerrequesthandleravgidle": (
        "the controller has no request handlers of its own"
    ),
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_count": _FORMATS,
    "kafka_server_kafkaserver_clusterid": _FORMATS,
    "kafka_server_kafkaserver_linux_disk_": "only `process_…` is read from the system",
    "kafka_server_kafkaserver_yammer_metrics_count": _FORMATS,
    "kafka_server_metadataloader_avgidleratio": _TIMES,
    "kafka_server_metadataloader_handleloadsnapshotcount": _TIMES,
    "kafka_server_raftchannelmetrics_": _ONE_VOTER,
    "kafka_server_raftmetrics_append_records_rate": _TIMES,
    "kafka_server_raftmetrics_commit_latency_": _TIMES,
    "kafka_server_raftmetrics_current_vote": _ONE_VOTER,
    "kafka_server_raftmetrics_election_latency_": _ONE_VOTER,
    "kafka_server_raftmetrics_fetch_records_rate": _ONE_VOTER,
    "kafka_server_raftmetrics_number_of_observers": _ONE_VOTER,
    "kafka_server_raftmetrics_number_unknown_voter_connections": _ONE_VOTER,
    "kafka_server_raftmetrics_poll_idle_ratio_avg": _TIMES,
    "kafka_server_raftmetrics_uncommitted_voter_change": _ONE_VOTER,
    "kafka_server_replicaalterlogdirsmanager_deadthreadcount": "a failed move is counted instead",
    "kafka_server_replicaalterlogdirsmanager_minfetchrate": "moves copy without fetches",
    "kafka_server_replicafetchermanager_": _ONE_BROKER,
    "kafka_server_replicamanager_failedisrupdates_total": _ONE_BROKER,
    "kafka_server_replicamanager_isr": _ONE_BROKER,
    "kafka_server_share": _SHARES,
    "kafka_server_snapshotemitter_": _TIMES,
}

_HEAD: Final = """\
# Metrics

Look up a metric of `/metrics`. [Watch a broker with Prometheus](../how-to/metrics.md) says how to
scrape them.

Kafka's metrics have the names that the JMX exporter gives them with Strimzi's rules, so dashboards
made for Kafka work. A summary has `_count`, and `_sum` or samples with the label `quantile` if they
are measured. A plain `Count` of Kafka is a summary with `_count` only. Other metrics begin with
`trio_kafka_`.

This page is generated: change the declarations, then run
`python -m trio_kafka_metrics.document > docs/reference/metrics.md`.
"""


def page() -> str:
    """Return the whole page."""
    metrics = catalogue()
    theirs = sorted(
        (metric for metric in metrics if metric.bean),
        key=lambda metric: (metric.name, metric.labels),
    )
    ours = [metric for metric in metrics if not metric.bean]
    lines = [_HEAD, "## Kafka's", "", "| name | kind | labels | bean, attribute | |"]
    lines += ["| --- | --- | --- | --- | --- |", *map(_row, theirs), "", "## Ours", ""]
    lines += ["| name | kind | labels | |", "| --- | --- | --- | --- |", *map(_row, ours)]
    lines += [
        "| `trio_kafka_…_total` | counter | its own | Each counter of the broker. |",
        "| `trio_kafka_plugin_…_total` | counter | its own, `plugin` | Each counter of a plugin. |",
        "| `process_…` | | | CPU time, memory, descriptors and the start of this process. |",
        "",
        "`kafka_network_requestmetrics_…` are there with `plugin.metrics.requests=true`.",
        "",
        "## Not here",
        "",
        "Missing metrics of Kafka, by name prefix. Beans that the rules drop are not listed.",
        "",
        "| name | why |",
        "| --- | --- |",
        *(
            f"| `{name}{'…' if name.endswith('_') else ''}` | {why} |"
            for name, why in ABSENT.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = [f"`{metric.name}`", metric.kind.value, labels]
    if metric.bean:
        cells.append(f"`{metric.bean}`, {metric.attribute}")
    cells.append(re.sub(r"\|", "\\|", metric.help))
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(page())
