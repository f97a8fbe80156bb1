#!/usr/bin/env bash
# serve.sh PORT CONTROLLER_PORT DATA_DIRECTORY [SETTING=VALUE ...]
# One Apache Kafka node, broker and controller in one process, on 127.0.0.1; in the foreground, until SIGTERM.
# Logs to standard output. A DATA_DIRECTORY that is formatted is used again; logs are in its "log".
#   KAFKA_HEAP_OPTS   heap                (-Xms1g -Xmx1g, as the distribution's)
#   APACHE_JVM_OPTS   other JVM options   (the distribution's)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 3 ] || { sed -n 2,6p "$0" >&2; exit 2; }
port=$1 controller=$2
mkdir -p "$3"
data=$(cd "$3" && pwd)
shift 3
resolve broker

settings=$data/server.properties
cat >"$settings" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
log.dirs=$data/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
PROPERTIES
[ $# -eq 0 ] || printf '%s\n' "$@" >>"$settings"

class_path="$jars/broker/*"
logging=-Dlog4j2.configurationFile=$here/log4j2.yaml
if [ ! -e "$data/log/meta.properties" ]; then
  cluster_id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'AB' | tr -d =)
  java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "$logging" -Dlog.level=ERROR -cp "$class_path" \
    kafka.tools.StorageTool format --cluster-id "$cluster_id" --config "$settings"
fi
default_options="-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35
  -XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15 -Djava.awt.headless=true"
# shellcheck disable=SC2086 - options are split on purpose
exec java ${KAFKA_HEAP_OPTS:--Xms1g -Xmx1g} ${APACHE_JVM_OPTS:-$default_options} \
  "$logging" -cp "$class_path" kafka.Kafka "$settings"
