"""Settings that name Java classes and their paths."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import BROKER, CLUSTER, java_class, string, texts


@frozen(kw_only=True)
class JavaClassSettings:
    """Settings that name Java classes and their paths."""

    alter_config_policy_class_name: str | None = java_class(
        None, "The class that judges changes of settings."
    )
    authorizer_class_name: str = string("", "The class that authorizes requests.")
    client_quota_callback_class: str | None = java_class(None, "The class that decides quotas.")
    create_topic_policy_class_name: str | None = java_class(
        None, "The class that judges new topics."
    )
    group_share_dlq_manager_class_name: str = string(
        "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager",
        "The class that keeps records which share groups could not deliver.",
        internal=True,
    )
    group_share_persister_class_name: str = string(
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        "The class that keeps the state of share groups.",
        internal=True,
    )
    group_streams_topology_description_plugin_class: str | None = java_class(
        None, "The class that takes descriptions of topologies."
    )
    kafka_metrics_reporters: tuple[str, ...] = texts(
        (), "Classes that report the metrics of the server."
    )
    metric_reporters: tuple[str, ...] = texts(
        ("org.apache.kafka.common.metrics.JmxReporter",),
        "Classes that report metrics.",
        update=CLUSTER,
    )
    principal_builder_class: str = java_class(
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "The class that makes principals of connections.",
        update=BROKER,
    )
    remote_log_metadata_manager_class_name: str = string(
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        "The class that keeps remote metadata.",
        not_empty=True,
    )
    remote_log_metadata_manager_class_path: str | None = string(None, "Class path of that class.")
    remote_log_metadata_manager_impl_prefix: str = string(
        "rlmm.config.", "Prefix of its own settings.", not_empty=True
    )
    remote_log_storage_manager_class_name: str | None = string(
        None, "The class that reaches remote storage.", not_empty=True
    )
    remote_log_storage_manager_class_path: str | None = string(None, "Class path of that class.")
    remote_log_storage_manager_impl_prefix: str = string(
        "rsm.config.", "Prefix of its own settings.", not_empty=True
    )
    replica_selector_class: str | None = string(
        None, "The class that chooses the replica that a consumer reads from."
    )
    sasl_client_callback_handler_class: str | None = java_class(
        None, "The class that answers SASL's questions for clients."
    )
    sasl_login_callback_handler_class: str | None = java_class(
        None, "The class that answers the questions of a login."
    )
    sasl_login_class: str | None = java_class(None, "The class that logs in.")
    sasl_oauthbearer_jwt_retriever_class: str = java_class(
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "The class that gets tokens.",
    )
    sasl_oauthbearer_jwt_validator_class: str = java_class(
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "The class that checks tokens.",
    )
    sasl_server_callback_handler_class: str | None = java_class(
        None, "The class that answers SASL's questions for the broker."
    )
    ssl_engine_factory_class: str | None = java_class(
        None, "The class that makes TLS engines.", update=BROKER
    )
