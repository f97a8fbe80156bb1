"""Tables of unsupported settings, each with its degree of support and the reason."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import Setting, settings_of
from trio_kafka.config.unsupported import Support
from trio_kafka.config.unsupported.acl import AclSettings
from trio_kafka.config.unsupported.cleaner import CleanerSettings
from trio_kafka.config.unsupported.cluster import ClusterSettings
from trio_kafka.config.unsupported.coordinator import CoordinatorThreadSettings
from trio_kafka.config.unsupported.development import DevelopmentSettings
from trio_kafka.config.unsupported.java import JavaClassSettings
from trio_kafka.config.unsupported.jvm import JvmSettings
from trio_kafka.config.unsupported.oauthbearer import OauthBearerSettings
from trio_kafka.config.unsupported.observing import ObservingSettings
from trio_kafka.config.unsupported.purgatory import PurgatorySettings
from trio_kafka.config.unsupported.quotas import QuotaSettings
from trio_kafka.config.unsupported.remote import RemoteSettings
from trio_kafka.config.unsupported.sasl import SaslSettings
from trio_kafka.config.unsupported.share_groups import ShareGroupSettings
from trio_kafka.config.unsupported.streams_groups import StreamsGroupSettings
from trio_kafka.config.unsupported.tls import TlsSettings
from trio_kafka.config.unsupported.transactions import TransactionSettings


@frozen
class Table:
    """Settings with one reason. A setting that gains support moves to `BrokerConfig`."""

    cls: type
    title: str
    support: Support
    why: str

    @property
    def settings(self) -> Mapping[str, Setting]:
        return settings_of(self.cls)


TABLES: Final = (
    Table(ShareGroupSettings, "Share groups", Support.NOT_YET, "share groups are not implemented"),
    Table(
        StreamsGroupSettings,
        "Streams groups",
        Support.NOT_YET,
        "streams groups are not implemented",
    ),
    Table(TransactionSettings, "Transactions", Support.NOT_YET, "transactions are not implemented"),
    Table(RemoteSettings, "Tiered storage", Support.NOT_YET, "tiered storage is not implemented"),
    Table(SaslSettings, "SASL and delegation tokens", Support.NOT_YET, "SASL is not implemented"),
    Table(OauthBearerSettings, "SASL/OAUTHBEARER", Support.NOT_YET, "SASL is not implemented"),
    Table(TlsSettings, "TLS", Support.NOT_YET, "TLS is not implemented"),
    Table(QuotaSettings, "Quotas of replication", Support.NOT_YET, "a broker has no others yet"),
    Table(CleanerSettings, "Compaction", Support.NOT_YET, "compacted topics are not compacted"),
    Table(AclSettings, "ACLs", Support.NOT_YET, "ACLs are not implemented"),
    Table(
        ClusterSettings, "A cluster of several nodes", Support.NOT_YET, "a cluster has one broker"
    ),
    Table(
        ObservingSettings, "Metrics and telemetry", Support.NOT_YET, "metrics are not implemented"
    ),
    Table(
        DevelopmentSettings,
        "Kafka's own development",
        Support.NOT_YET,
        "nothing here has this choice",
    ),
    Table(
        JavaClassSettings,
        "Java classes",
        Support.NOT_APPLICABLE,
        "it is about Java classes, which do not run here",
    ),
    Table(
        CoordinatorThreadSettings,
        "Threads of the group coordinator",
        Support.NOT_APPLICABLE,
        "one loop serves all groups, and what an event decides is written at once",
    ),
    Table(JvmSettings, "The Java runtime", Support.NOT_APPLICABLE, "it is about the Java runtime"),
    Table(
        PurgatorySettings,
        "Purgatories",
        Support.NOT_APPLICABLE,
        "what is done leaves its purgatory at once",
    ),
)
