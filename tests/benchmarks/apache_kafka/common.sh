# Sourced by the scripts beside it.
#   TRIO_KAFKA_CACHE   where jars are kept; by default trio-kafka in the user's cache directory
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jars=${TRIO_KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trio-kafka}/apache-kafka

# resolve broker|tools: see to it that $jars/SET is whole. Two at once wait for one another; what a resolve that was
# killed left behind has no mark and is copied again, and so is the set of an older pom.
resolve() {
  local set=$1 mark
  mark=$jars/$set/.complete
  [ "$mark" -nt "$here/pom.xml" ] && return
  mkdir -p "$jars"
  (
    flock 9
    [ "$mark" -nt "$here/pom.xml" ] && exit
    rm -rf "${jars:?}/$set"
    mvn -B -q -Dstyle.color=never -f "$here/pom.xml" -P"$set" dependency:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$jars/$set" >&2
    touch "$mark"
  ) 9>"$jars/.lock"
}
