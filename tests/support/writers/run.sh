#!/usr/bin/env bash
# Runs Writers.java with the HBase of ../hbase: run.sh ZOOKEEPER_PORT. The jars are downloaded once into a cache folder
# of the user; `run.sh fetch` only downloads them. Exits with 77 if the download fails.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUN=none
WRITERS=$HERE
. "$HERE/../hbase/lib.sh"
JARS=$(dirname "$LIB")/writers-$(sed -n 's:.*<phoenix.version>\(.*\)</phoenix.version>.*:\1:p' "$WRITERS/pom.xml")

if [ ! -e "$JARS/.complete" ]; then
  mkdir -p "$JARS"
  command -v mvn >/dev/null &&
    "$WRITERS/../fetch.sh" mvn -q -B -f "$WRITERS/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$JARS" ||
    { echo "the jars of Phoenix and HBaseWD could not be fetched" >&2; exit 77; }
  touch "$JARS/.complete"
fi
[ "$1" = fetch ] && exit 0
mapfile -t options < <(java_options)
exec java "${options[@]}" -Xmx192m -XX:-UsePerfData -XX:TieredStopAtLevel=1 -cp "$LIB/*:$JARS/*" "$WRITERS/Writers.java" "$1"
