"""All tables of known settings, each with what becomes of its settings here, and why."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.known import Standing
from trio_kafka.config.known.acl import AclSettings
from trio_kafka.config.known.cleaner import CleanerSettings
from trio_kafka.config.known.cluster import ClusterSettings
from trio_kafka.config.known.coordinator import CoordinatorThreadSettings
from trio_kafka.config.known.java import JavaClassSettings
from trio_kafka.config.known.jvm import JvmSettings
from trio_kafka.config.known.oauthbearer import OauthBearerSettings
from trio_kafka.config.known.observing import ObservingSettings
from trio_kafka.config.known.other import OtherSettings
from trio_kafka.config.known.purgatory import PurgatorySettings
from trio_kafka.config.known.quotas import QuotaSettings
from trio_kafka.config.known.remote import RemoteSettings
from trio_kafka.config.known.sasl import SaslSettings
from trio_kafka.config.known.share_groups import ShareGroupSettings
from trio_kafka.config.known.streams_groups import StreamsGroupSettings
from trio_kafka.config.known.tls import TlsSettings
from trio_kafka.config.known.transactions import TransactionSettings
from trio_kafka.config.setting import Setting, settings_of


@frozen
class Table:
    """Settings with one fate. When a part obeys them, `BrokerConfig` takes over their fields."""

    cls: type
    title: str
    standing: Standing
    why: str

    @property
    def settings(self) -> Mapping[str, Setting]:
        return settings_of(self.cls)


TABLES: Final = (
    Table(ShareGroupSettings, "Share groups", Standing.NOT_YET, "share groups are not served"),
    Table(
        StreamsGroupSettings, "Streams groups", Standing.NOT_YET, "streams groups are not served"
    ),
    Table(TransactionSettings, "Transactions", Standing.NOT_YET, "transactions are not served"),
    Table(RemoteSettings, "Tiered storage", Standing.NOT_YET, "tiered storage is not served"),
    Table(SaslSettings, "SASL and delegation tokens", Standing.NOT_YET, "SASL is not served"),
    Table(OauthBearerSettings, "SASL/OAUTHBEARER", Standing.NOT_YET, "SASL is not served"),
    Table(TlsSettings, "TLS", Standing.NOT_YET, "TLS is not served"),
    Table(QuotaSettings, "Quotas of replication", Standing.NOT_YET, "a broker has no others yet"),
    Table(CleanerSettings, "Compaction", Standing.NOT_YET, "compacted topics are not compacted"),
    Table(AclSettings, "ACLs", Standing.NOT_YET, "ACLs are not served"),
    Table(
        ClusterSettings, "A cluster of several nodes", Standing.NOT_YET, "a cluster has one broker"
    ),
    Table(ObservingSettings, "Metrics and telemetry", Standing.NOT_YET, "metrics are not served"),
    Table(
        OtherSettings, "Kafka's own development", Standing.NOT_YET, "nothing here has this choice"
    ),
    Table(
        JavaClassSettings,
        "Java classes",
        Standing.MEANINGLESS,
        "it is about Java classes, which do not run here",
    ),
    Table(
        CoordinatorThreadSettings,
        "Threads of the group coordinator",
        Standing.MEANINGLESS,
        "one loop serves all groups, and what an event decides is written at once",
    ),
    Table(JvmSettings, "The Java runtime", Standing.MEANINGLESS, "it is about the Java runtime"),
    Table(
        PurgatorySettings,
        "Purgatories",
        Standing.MEANINGLESS,
        "what is done leaves its purgatory at once",
    ),
)
