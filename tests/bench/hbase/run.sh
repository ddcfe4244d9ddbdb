#!/usr/bin/env bash
# Starts an HBase, keywayd in front of it, and bench_hbase against both: run.sh BUILD_FOLDER
# [--buffered] [arguments of bench_hbase...]. Everything is in BUILD_FOLDER/bench-hbase and stopped at the
# end. KW_HBASE_... settings as in tests/support/hbase/lib.sh; KEYWAY_BENCH_RUN uses an HBase that
# start.sh has started (and leaves it).
#
#   run.sh build/release --check                        the whole table; some minutes
#   run.sh build/release --only put --callers 64 --rounds 3 --slice-ms 500 --rows 20000
#   run.sh build/release --only put,get --callers 1,8,64 --generated
#   run.sh build/release --growth callers               CSV instead; also buckets, size, rows (growth.sh)
set -euo pipefail
build=$(realpath "$1")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
support=$here/../../support/hbase
work=$build/bench-hbase
form=framed
if [ "${1:-}" = --buffered ]; then
  form=buffered
  shift
fi
mkdir -p "$work"
ulimit -n "$(ulimit -Hn)" # 10,000 callers

if [ -n "${KEYWAY_BENCH_RUN:-}" ]; then
  hbase=$KEYWAY_BENCH_RUN
else
  hbase=$work/hbase
  KW_HBASE_HEAP=${KW_HBASE_HEAP:-2g} KW_HBASE_THRIFT_HEAP=${KW_HBASE_THRIFT_HEAP:-1g} "$support/start.sh" "$hbase"
fi
gateway=
finish() {
  [ -z "$gateway" ] || { kill "$gateway" && wait "$gateway" || true; }
  [ -n "${KEYWAY_BENCH_RUN:-}" ] || "$support/stop.sh" "$hbase"
}
trap finish EXIT

. "$hbase/env"
place=$KW_HBASE_FRAMED transport=framed protocol=compact
if [ $form = buffered ]; then
  place=$KW_HBASE_BUFFERED transport=buffered protocol=binary
fi
read -r port admin < <(python3 -c '
import socket
pair = [socket.socket() for _ in range(2)]
[s.bind(("127.0.0.1", 0)) for s in pair]
print(*[s.getsockname()[1] for s in pair])')
sed -e "s/@PORT@/$port/; s/@ADMIN@/$admin/; s/@PLACE@/$place/; s/@TRANSPORT@/$transport/; s/@PROTOCOL@/$protocol/" \
  "$here/policy.yaml.in" >"$work/policy.yaml"
# name, buckets, store table: the newest of all, whatever bucket it is in
events_table() {
  local bucket="salt: {buckets: $2, of: [id]}"
  [ "$2" != 1 ] || bucket='literal: A' # one byte all the same
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
grown=kw_bench_grown_$$ # empty at the beginning, also on an HBase that is used again
case " $* " in
*" --growth buckets "*)
  for buckets in 1 2 4 8 16 32 64 128 256; do
    events_table "events_$buckets" $buckets "kw_bench_events_$buckets"
  done >>"$work/policy.yaml" ;;
*" --growth rows "*) events_table grown 16 "$grown" >>"$work/policy.yaml" ;;
esac
"$build/server/gateway/keywayd" --config "$work/policy.yaml" >"$work/keywayd.log" 2>&1 &
gateway=$!
for _ in $(seq 300); do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "$gateway" 2>/dev/null || { cat "$work/keywayd.log" >&2; gateway=; exit 1; }
  sleep 0.1
done
# It listens before the store's tables are there; it is ready when they are.
python3 - "$admin" <<'READY'
import sys, time, urllib.request
for _ in range(900):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/readyz", timeout=5)
        break
    except OSError:
        time.sleep(0.1)
else:
    sys.exit("the gateway is not ready; see its keywayd.log")
READY
arguments=(--gateway-pid "$gateway" --grown-table "$grown")
[ $form = buffered ] || arguments+=(--framed)
"$build/tests/bench/hbase/bench_hbase" --thrift "${place##*:}" --gateway "$port" "${arguments[@]}" "$@"
