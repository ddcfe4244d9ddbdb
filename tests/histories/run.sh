#!/usr/bin/env bash
# The long campaigns: run.sh BUILD_FOLDER [SEED] [KEEP_FOLDER]. Prints a line for each history and a sum for each place;
# exits with 1 when one was wrong. A wrong history stays in KEEP_FOLDER, and judge_history judges it again.
#
#   KW_HISTORIES   which places: "embedded sim hbase"          (embedded sim)
#   KW_THRIFT2     framed, compact Thrift2 servers for hbase: "HOST:PORT,HOST:PORT"
set -uo pipefail
build=$(realpath "$1") seed=${2:-$RANDOM} keep=$(realpath -m "${3:-histories-kept}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KEYWAYD=$build/server/gateway/keywayd KW_HBASE_SIM=$build/tests/histories/hbase_sim
export KW_RECORD_HISTORY=$build/tests/histories/record_history PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$here:$here/../support:$build/python/gen
wrong=0
run() {
  echo "== seed $seed: $*"
  "$build/python/bin/python" "$here/campaign.py" --seed "$seed" --keep "$keep" "$@" || wrong=1
}
for place in ${KW_HISTORIES:-embedded sim}; do
  case $place in
  embedded) run --store embedded --faults calm,kill,term,clock_back --count 1500 ;;
  sim) run --store sim --gateways 2 --count 2000 --faults \
    calm,delay,lost,late,repeat,stop_thrift,kill_thrift,clock_moves,clock_jumps,compactions,kill,stop,clocks_off ;;
  hbase) for gateways in 1 2; do
    run --store hbase --servers "$KW_THRIFT2" --gateways $gateways --faults calm,stop,kill,clocks_off --count 150 \
      --duration 1500 --deadline 8000
  done ;;
  esac
done
exit $wrong
