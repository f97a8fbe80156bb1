#!/usr/bin/env bash
# tool.sh CLASS [ARGUMENT ...] — one of Kafka's own command-line tools:
#   tool.sh TopicCommand --bootstrap-server 127.0.0.1:9092 --list
#   tool.sh DumpLogSegments --files data/topic-0/00000000000000000000.log
# A CLASS without "org." or "kafka." is taken from org.apache.kafka.tools.
#   KAFKA_HEAP_OPTS   heap        (-Xmx512m)
#   KAFKA_LOG_LEVEL   log level   (ERROR)
set -euo pipefail
. "$(dirname "$0")/common.sh"
class=${1:?usage: tool.sh CLASS [ARGUMENT ...]}
shift
case $class in org.* | kafka.*) ;; *) class=org.apache.kafka.tools.$class ;; esac
resolve tools
# shellcheck disable=SC2086 - options are split on purpose
exec java ${KAFKA_HEAP_OPTS:--Xmx512m} -Dlog4j2.configurationFile="$here/log4j2.yaml" \
  -Dlog.level="${KAFKA_LOG_LEVEL:-ERROR}" -cp "$jars/tools/*" "$class" "$@"
