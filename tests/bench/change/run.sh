#!/usr/bin/env bash
# Measures what a change of a key rule costs, and prints for each target whether it is met: run.sh BUILD_FOLDER
# embedded|hbase|both [arguments of bench_change...]. A quiet machine with two cores needs 6 minutes for the
# embedded store, 15 minutes and 14 GB of memory for HBase.
# For HBase it starts one in BUILD_FOLDER/bench-change, and stops it at the end; KEYWAY_BENCH_RUN uses an HBase that
# start.sh has started, and keeps it running.
#
#   run.sh build/release both
#   run.sh build/release hbase --rows 20000 --rounds 1
#   run.sh build/release hbase --orders    only the orders (switch, reverse, complete)
#   run.sh build/release hbase --puts --seconds 1    only puts, in longer slices
set -euo pipefail
build=$(realpath "$1")
store=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
support=$here/../../support/hbase
work=$build/bench-change
bench=$build/tests/bench/change/bench_change
mkdir -p "$work"

# measure STORE ARGUMENTS...
measure() {
  local name=$1
  shift
  echo "== $name"
  time "$bench" --folder "$work" "$@"
}

case $store in embedded | both)
  measure embedded --rows 1000000 --rounds 5 --seconds 0.3 "$@" ;;
esac
case $store in hbase | both) ;; *) exit 0 ;; esac

if [ -n "${KEYWAY_BENCH_RUN:-}" ]; then
  hbase=$KEYWAY_BENCH_RUN
else
  hbase=$work/hbase
  # All 64 callers wait for each pause of HBase's garbage collector. Those of G1 (up to 90 ms) would decide the p99.9.
  # With a smaller heap, HBase would flush regions of one table, and reads of it would differ from those of the other.
  KW_HBASE_HEAP=${KW_HBASE_HEAP:-10g} KW_HBASE_THRIFT_HEAP=${KW_HBASE_THRIFT_HEAP:-1g} \
    JAVA_TOOL_OPTIONS="-XX:+UseZGC ${JAVA_TOOL_OPTIONS:-}" "$support/start.sh" "$hbase"
  trap '"$support/stop.sh" "$hbase"' EXIT
fi
. "$hbase/env"
measure hbase --hbase "$KW_HBASE_FRAMED" --rows 300000 --rounds 5 --seconds 0.3 "$@"
