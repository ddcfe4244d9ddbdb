#!/usr/bin/env bash
# How cost grows: growth.sh BUILD_FOLDER [KIND...] measures callers, buckets, size and rows (default: all four) with
# run.sh, writes docs/growth/KIND.csv and draws docs/growth/*.svg from these files (plot.py). A series takes one to two
# minutes on a quiet machine. A series that takes longer than KEYWAY_GROWTH_SECONDS (240) is stopped, and its old CSV
# file stays. KEYWAY_BENCH_RUN: as for run.sh. KEYWAY_GROWTH contains more arguments for bench_hbase:
#
#   KEYWAY_GROWTH="--rounds 1 --slice-ms 200 --warm 2 --growth-rows 10000" growth.sh build/release rows
set -euo pipefail
build=$1
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
growth=${KEYWAY_GROWTH_FOLDER:-$here/../../../docs/growth}
mkdir -p "$growth"
read -ra more <<<"${KEYWAY_GROWTH:-}"
[ $# -gt 0 ] || set -- callers buckets size rows
for kind in "$@"; do
  case $kind in
  callers) arguments=(--rounds 2 --slice-ms 650 --rows 10000 --warm 8) ;;
  buckets) arguments=(--rounds 5 --slice-ms 400 --rows 10000 --warm 5) ;;
  size) arguments=(--rounds 2 --slice-ms 700 --rows 10000 --warm 6) ;;
  rows) arguments=(--rounds 3 --slice-ms 400 --rows 10000 --warm 5) ;;
  *) echo "growth by $kind: callers, buckets, size or rows" >&2; exit 2 ;;
  esac
  echo "growth by $kind" >&2
  SECONDS=0
  timeout "${KEYWAY_GROWTH_SECONDS:-240}" "$here/run.sh" "$build" --growth "$kind" "${arguments[@]}" "${more[@]}" \
    >"$growth/$kind.new" || {
    code=$?
    [ $code != 124 ] || echo "growth by $kind took longer than ${KEYWAY_GROWTH_SECONDS:-240} s" >&2
    echo "growth by $kind failed ($code); $growth/$kind.csv is unchanged" >&2
    rm -f "$growth/$kind.new"
    exit 1
  }
  mv "$growth/$kind.new" "$growth/$kind.csv"
  echo "growth by $kind: $SECONDS s" >&2
done
python3 "$here/plot.py" "$growth"
