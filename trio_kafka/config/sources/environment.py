"""Settings from environment variables: `KAFKA_NUM_PARTITIONS` is `num.partitions`.

After `KAFKA_`, in lower case, three underscores are `-`, two are `_`, one is `.`, as in the images
of Apache Kafka. Variables of Kafka's scripts are ignored.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from trio_kafka.config.catalogue import every_setting, is_name, unknown
from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.unsupported import replacement_of

PREFIX: Final = "KAFKA_"
# Variables of Apache Kafka's scripts and images, which are not settings.
_OF_SCRIPTS: Final = """
    KAFKA_CLASSPATH KAFKA_DEBUG KAFKA_GC_LOG_OPTS KAFKA_HEAP_OPTS KAFKA_HOME KAFKA_JMX_HOSTNAME
    KAFKA_JMX_OPTS KAFKA_JMX_PORT KAFKA_JVM_PERFORMANCE_OPTS KAFKA_LOG4J_LOGGERS KAFKA_LOG4J_OPTS
    KAFKA_LOG4J_ROOT_LOGLEVEL KAFKA_OPTS KAFKA_TOOLS_LOG4J_LOGLEVEL KAFKA_VERSION
"""
# A program's own variables may begin so too (KAFKA_BOOTSTRAP_SERVERS); nearer than this to a
# setting's name a variable is a slip.
_SLIP: Final = 0.85


def name_of(variable: str) -> str:
    """Return the setting of a variable."""
    name = variable.removeprefix(PREFIX).lower().replace("_", ".")
    return name.replace("...", "-").replace("..", "_")


def environment(variables: Mapping[str, str]) -> tuple[dict[str, SettingText], tuple[str, ...]]:
    """Return the layer of an environment, and a warning for each variable that is not a setting.

    Raises ConfigError for a misspelt setting, and for one that Kafka removed.
    """
    layer: dict[str, SettingText] = {}
    warnings = []
    scripts = _OF_SCRIPTS.split()
    for variable in sorted(variables):
        if not variable.startswith(PREFIX) or variable in scripts:
            continue
        name, where = name_of(variable), f"environment {variable}"
        if is_name(name):
            layer[name] = SettingText(variables[variable], where)
        elif _is_meant(name):
            raise ConfigError(name, unknown(name), where)
        else:
            warnings.append(f"{where}: {name} is not a setting, and is ignored")
    return layer, tuple(warnings)


def _is_meant(name: str) -> bool:
    """Return whether a variable is a misspelt or removed setting, which must not be ignored.

    A single word is never a removed setting: an orchestrator sets KAFKA_PORT for its own use.
    """
    was_one = "." in name and replacement_of(name) is not None
    return was_one or bool(get_close_matches(name, every_setting(), n=1, cutoff=_SLIP))
