"""The cluster of a command as `kafka.*` options of a reader or writer."""

from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka_spark.client.options import KAFKA_OPTIONS
from trio_kafka_spark.client.settings import BOOTSTRAP, PREFIX


def kafka_options(cluster: str, *, for_writing: bool) -> dict[str, str]:
    """Return the options with the address of a cluster, and with the settings of a Bootstrap.

    Settings of profiles and files that this side refuses, such as those of another kind of client,
    are left out; those of `--property` are not, so that the reader or writer names the wrong ones.
    """
    options = {BOOTSTRAP: str(cluster)}
    if isinstance(cluster, Bootstrap):
        settings = {
            name: value
            for name, value in cluster.settings.items()
            if name in KAFKA_OPTIONS and not KAFKA_OPTIONS[name].is_refused(for_writing=for_writing)
        }
        every = {**settings, **cluster.properties}
        options = {PREFIX + name: value for name, value in every.items()} | options
    return options
