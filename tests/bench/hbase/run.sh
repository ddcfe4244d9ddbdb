#!/usr/bin/env bash
# Starts an HBase and a keywayd, and runs bench_hbase on both: run.sh BUILD_FOLDER
# [--buffered] [--atomics] [--simulated] [--before KEYWAYD [--stamped] [--delay-ms MS]] [arguments of bench_hbase...]. Everything is in
# BUILD_FOLDER/bench-hbase and is stopped at the end. KW_HBASE_... settings as in tests/support/hbase/lib.sh.
# KEYWAY_BENCH_RUN uses an HBase that start.sh has started, and keeps it running.
#
# --before compares with a keywayd of an earlier build instead of with Thrift2. --stamped sets order: stamp for the new
# build's tables. --delay-ms delays every reply of HBase for both.
#
# --atomics measures only atomic operations, and what `atomics: true` costs puts. --simulated uses tests/histories/hbase_sim
# instead of an HBase, to test the benchmark; its results mean nothing.
#
#   run.sh build/release --check                        the whole table; about ten minutes
#   run.sh build/release --only put --callers 64 --rounds 3 --slice-ms 500 --rows 20000
#   run.sh build/release --only put,get --callers 1,8,64 --generated
#   run.sh build/release --before ../old/build/release/server/gateway/keywayd --rounds 21
#   run.sh build/release --before ../old/build/release/server/gateway/keywayd --only calls --callers 1,8,64,256
#   run.sh build/release --atomics --rounds 9 --rows 10000   about two minutes
#   run.sh build/release --growth callers               CSV instead; also buckets, size, rows (growth.sh)
set -euo pipefail
build=$(realpath "$1")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
support=$here/../../support/hbase
work=$build/bench-hbase
form=framed before= stamped= delay= atomics= simulated=
if [ "${1:-}" = --buffered ]; then
  form=buffered
  shift
fi
while [ $# -gt 0 ]; do
  case $1 in
  --before) before=$(realpath "$2"); shift 2 ;;
  --stamped) stamped=1; shift ;;
  --atomics) atomics=1; shift ;;
  --simulated) simulated=1; shift ;;
  --delay-ms) delay=$2; shift 2 ;;
  *) break ;;
  esac
done
mkdir -p "$work"
ulimit -n "$(ulimit -Hn)" # 10,000 callers

if [ -n "$simulated" ]; then
  hbase=
elif [ -n "${KEYWAY_BENCH_RUN:-}" ]; then
  hbase=$KEYWAY_BENCH_RUN
else
  hbase=$work/hbase
  KW_HBASE_HEAP=${KW_HBASE_HEAP:-2g} KW_HBASE_THRIFT_HEAP=${KW_HBASE_THRIFT_HEAP:-1g} "$support/start.sh" "$hbase"
fi
started=()
finish() {
  for pid in "${started[@]}"; do
    kill "$pid" && wait "$pid" || true
  done
  [ -n "$simulated${KEYWAY_BENCH_RUN:-}" ] || "$support/stop.sh" "$hbase"
}
trap finish EXIT

free_ports() { # of the given number
  python3 -c '
import socket, sys
all = [socket.socket() for _ in range(int(sys.argv[1]))]
[s.bind(("127.0.0.1", 0)) for s in all]
print(*[s.getsockname()[1] for s in all])' "$1"
}
server_pids=
if [ -n "$simulated" ]; then
  KW_HBASE_FRAMED=127.0.0.1:$(free_ports 1)
  exec 6< <(tail -f /dev/null --pid $$ | exec "$build/tests/histories/hbase_sim" 1 "${KW_HBASE_FRAMED##*:}")
  read -r ready <&6
  [ "$ready" = ok ]
else
  . "$hbase/env"
  server_pids=$(cat "$hbase/master.pid" "$hbase/thrift-$form.pid" | paste -sd,)
fi
place=$KW_HBASE_FRAMED
[ $form = framed ] || place=$KW_HBASE_BUFFERED
if [ -n "$delay" ]; then
  exec 4< <(exec python3 "$here/slow_link.py" "${place##*:}" "$delay")
  started+=($!)
  read -r link <&4
  place=127.0.0.1:$link
fi
read -r port admin before_port before_admin < <(free_ports 4)
sed -e "s/@PORT@/$port/; s/@ADMIN@/$admin/; s/@PLACE@/$place/" "$here/policy.yaml.in" >"$work/policy.yaml"
# Arguments: name, buckets, store table. Its query is for the newest event of all buckets.
events_table() {
  local bucket="salt: {buckets: $2, of: [id]}"
  [ "$2" != 1 ] || bucket='literal: A' # one byte as well
  cat <<TABLE
  $1:
    fields: {id: {type: string, max_bytes: 16}, ts: {type: timestamp, unit: ms}, a: string}
    key:
      - $bucket
      - field: {name: ts, order: desc}
      - field: id
    store_table: $3
TABLE
  [ "$2" = 1 ] || echo "    splits: {algorithm: rule, regions: $(($2 < 16 ? $2 : 16))}"
}
# Arguments: name, lines with its order and paths; see way.h.
counting_table() {
  cat <<TABLE
  $1:
    fields: {id: {type: string, max_bytes: 16}, a: string, b: string, c: string, n: {type: int, counter: true}}
    key:
      - salt: {buckets: 16, of: [id]}
      - field: id
    store_table: kw_bench_$1
    splits: {algorithm: rule, regions: 16}
$2
TABLE
}
if [ -n "$atomics" ]; then # the gateway only creates direct_native
  {
    counting_table direct_native '    order: store'
    counting_table native '    order: store'
    counting_table stamped '    order: stamp'
    counting_table atomic $'    order: stamp\n    atomics: true'
    counting_table atomic_paths '    atomics: true
    paths:
      by_id:
        key: [hash: {algorithm: md5, of: [id], take: 1, as: bytes}, field: id]
        store_table: kw_bench_atomic_paths_by_id
        splits: {algorithm: rule, regions: 16}'
  } >>"$work/policy.yaml"
  set -- --atomics "$@"
fi
grown=kw_bench_grown_$$ # empty at the beginning, even on an HBase that was used before
case " $* " in
*" --growth buckets "*)
  for buckets in 1 2 4 8 16 32 64 128 256; do
    events_table "events_$buckets" $buckets "kw_bench_events_$buckets"
  done >>"$work/policy.yaml" ;;
*" --growth rows "*) events_table grown 16 "$grown" >>"$work/policy.yaml" ;;
esac
[ -z "$stamped" ] || # such tables cannot have counters
  sed -i -e '/^  counted:/,/^    store_table:/d' -e 's/^    key:/    order: stamp\n&/' "$work/policy.yaml"

[ -z "$simulated" ] || sed -i '/^ *splits:/d' "$work/policy.yaml" # hbase_sim has no regions

# start KEYWAYD NAME PORT ADMIN starts a gateway with NAME.yaml and waits until it is ready; $! is its process.
start() {
  "$1" --config "$work/$2.yaml" >"$work/$2.log" 2>&1 &
  started+=($!)
  python3 - "$4" $! <<'READY' || { cat "$work/$2.log" >&2; exit 1; }
import os, sys, time, urllib.request
for _ in range(900):
    os.kill(int(sys.argv[2]), 0)
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/readyz", timeout=5)
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("the gateway is not ready")
READY
}
start "$build/server/gateway/keywayd" policy "$port" "$admin"
gateway=${started[-1]}
# The settings of policy.yaml that change the rates, and the number of event loops.
settings=$(grep -Eo '(loops|channels): *[^ ,}]+' "$work/policy.yaml" | paste -sd, || true)
loops=$(cat /proc/"$gateway"/task/*/comm | grep -c '^loop' || true)
settings="${settings:-default settings}, event loops: $loops"
arguments=(--gateway-pid "$gateway" --grown-table "$grown" --settings "$settings")
if [ -n "$before" ]; then # with its own tables and catalog
  sed -e "s/:$port$/:$before_port/; s/:$admin$/:$before_admin/; s/kw_bench_/kw_before_/; s/, counter: true//" \
    -e '/order: stamp/d' -e 's/^  kind: hbase/&\n  catalog: kw_before_catalog/' "$work/policy.yaml" >"$work/before.yaml"
  start "$before" before "$before_port" "$before_admin"
  arguments+=(--before "$before_port" --before-pid "${started[-1]}")
  [ -z "$stamped" ] || arguments+=(--stamped)
fi
if [ -z "$before" ]; then # it serves the same protocol as the Thrift2 server that it forwards to
  exec 5< <(exec "$build/tests/bench/hbase/bare_proxy" "${place##*:}")
  proxy=$!
  started+=("$proxy")
  read -r proxy_port <&5
  arguments+=(--proxy "$proxy_port" --proxy-pid "$proxy")
fi
arguments+=(--server-pids "$server_pids")
[ $form = buffered ] || arguments+=(--framed)
"$build/tests/bench/hbase/bench_hbase" --thrift "${place##*:}" --gateway "$port" "${arguments[@]}" "$@"
