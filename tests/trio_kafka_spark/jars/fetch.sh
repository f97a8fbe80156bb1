#!/usr/bin/env bash
# fetch.sh — fetches the jars of Spark's own Kafka connector (Maven), where they are not there yet, and prints their directory.
#   TRIO_KAFKA_CACHE   where jars are kept; by default trio-kafka in the user's cache directory
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jars=${TRIO_KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trio-kafka}/spark-connector
mark=$jars/.complete
if [ ! "$mark" -nt "$here/pom.xml" ] || [ ! "$mark" -nt "$here/sha256sums" ]; then
  mkdir -p "$jars"
  (
    flock 9
    if [ ! "$mark" -nt "$here/pom.xml" ] || [ ! "$mark" -nt "$here/sha256sums" ]; then
      rm -f "$jars"/*.jar
      mvn -B -q -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars" >&2
      (cd "$jars" && sha256sum --quiet --strict -c "$here/sha256sums" >&2)
      touch "$mark"
    fi
  ) 9>"$jars/.lock"
fi
echo "$jars"
