#!/usr/bin/env bash
# How cost grows: growth.sh BUILD_FOLDER [KIND...] measures (callers, buckets, size, rows unless told
# otherwise) with run.sh and writes docs/growth/KIND.csv, then draws docs/growth/*.svg (plot.py). Some minutes
# on a quiet machine; arguments for bench_hbase stand in KEYWAY_GROWTH ("--slice-ms 2000").
set -euo pipefail
build=$1
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
growth=$here/../../../docs/growth
mkdir -p "$growth"
read -ra arguments <<<"${KEYWAY_GROWTH:-}"
[ $# -gt 0 ] || set -- callers buckets size rows
for kind in "$@"; do
  "$here/run.sh" "$build" --growth "$kind" --rows 20000 "${arguments[@]}" | grep , | grep -v ^listening >"$growth/$kind.new"
  mv "$growth/$kind.new" "$growth/$kind.csv"
done
python3 "$here/plot.py" "$growth"
