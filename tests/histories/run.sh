#!/usr/bin/env bash
# The long campaigns: run.sh BUILD_FOLDER [SEED] [KEEP_FOLDER]. Prints a line for each history and totals for each place;
# exits with 1 if a history is wrong. A wrong history is kept in KEEP_FOLDER; judge_history judges it again.
#
#   KW_HISTORIES   places to test: "embedded hints change paths sim change_sim paths_sim hbase regions change_hbase"
#                  (default: embedded sim)
# hbase, regions and change_hbase start a real HBase (Java, and Maven for its first start).
set -uo pipefail
build=$(realpath "$1") seed=${2:-$RANDOM} keep=$(realpath -m "${3:-histories-kept}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KEYWAYD=$build/server/gateway/keywayd KW_HBASE_SIM=$build/tests/histories/hbase_sim
export KW_RECORD_HISTORY=$build/tests/histories/record_history KW_DISK_LIBRARY=$build/tests/hostile/libkw_test_disk.so
export KW_CLOCK_LIBRARY=$build/tests/histories/libkw_test_clock.so PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$here:$here/../support:$build/python/gen
changes=change,change_delay,change_slow,change_held,change_held_long,change_blind,change_late,change_cut,change_repeat,change_stop,change_stop_long,change_kill
changes+=,change_restart,change_kill_thrift,change_stop_thrift,change_compactions,change_clock_moves,change_clocks_off,change_mixed
paths=${changes//change/paths}
changes+=,change_stuck,change_given_up,change_apart
wrong=0
run() {
  echo "== seed $seed: $*"
  "$build/python/bin/python" "$here/campaign.py" --seed "$seed" --keep "$keep" "$@" || wrong=1
}
for place in ${KW_HISTORIES:-embedded sim}; do
  case $place in
  hints) run --store embedded --workloads hints --faults calm,kill,term,clock_back,disk_full --count 500
    run --store sim --gateways 2 --workloads hints --count 2000 --faults \
      calm,delay,lost,late,repeat,stop_thrift,kill_thrift,clock_moves,clock_jumps,compactions,kill,stop,clocks_off ;;
  embedded) run --store embedded --workloads store,stamp,cas --faults calm,kill,term,clock_back,disk_full --count 1500 ;;
  change) run --store embedded --workloads store,stamp,cas --faults change,change_kill --duration 800 --pause 3000 --count 600 ;;
  paths) run --store embedded --faults paths,paths_kill --workloads paths,paths_parts --duration 800 --pause 3000 --count 300 ;;
  change_sim) run --store sim --gateways 2 --together 9 --callers 5 --bursts 80 --count 10000 --faults "$changes"
    run --store sim --gateways 2 --together 1 --groups 8 --callers 5 --bursts 80 --count 500 --late 1000 --workloads watched --turns 6 --own-servers \
      --faults change_apart ;;
  paths_sim) run --store sim --gateways 2 --together 6 --callers 5 --bursts 80 --count 3000 --workloads paths,paths_parts,duo_put_if,duo_counters,duo_all \
    --faults "$paths"
    run --store sim --gateways 2 --together 8 --groups 3 --callers 5 --bursts 80 --count 1000 --workloads hints \
      --faults "$paths,paths_stuck,paths_given_up" ;;
  change_hbase) run --store cluster --links --gateways 2 --together 9 --callers 5 --bursts 300 --deadline 8000 --rounds 100 \
    --count 100 --faults change,change_stop,change_kill_thrift,change_kill,change_late,change_cut,change_held,change_restart
    run --store cluster --links --gateways 2 --together 8 --callers 5 --bursts 300 --deadline 8000 --rounds 100 --workloads hints \
      --count 60 --faults paths,paths_stop,paths_kill_thrift,paths_kill,paths_late,paths_cut,paths_held,paths_restart ;;
  sim) run --store sim --gateways 2 --workloads store,stamp,cas --count 2000 --faults \
    calm,delay,lost,late,repeat,stop_thrift,kill_thrift,clock_moves,clock_jumps,compactions,kill,stop,clocks_off ;;
  hbase) for gateways in 1 2; do
    run --store cluster --gateways $gateways --count 110 --duration 1500 --deadline 8000 \
      --faults calm,kill,stop,kill_thrift,stop_thrift,clocks_off,clocks_jump
    run --store cluster --gateways $gateways --links --count 40 --duration 1500 --deadline 8000 \
      --faults delay,lost,late,slow_answers
  done ;;
  regions)
    run --store cluster --region-servers 2 --gateways 2 --retries 0 --workloads store --count 40 --duration 1500 \
      --deadline 8000 --faults kill_region_server,regions_move,regions_split,regions_merge,regions_change
    run --store cluster --region-servers 2 --gateways 2 --workloads stamp --count 40 --duration 1500 \
      --deadline 8000 --faults kill_region_server,regions_move,regions_split,regions_merge,regions_change
    run --store cluster --region-servers 2 --server-clock=+0.005s --gateways 2 --workloads stamp --count 10 \
      --duration 1500 --deadline 8000 --faults clock_moves
    run --store cluster --region-servers 2 --server-clock=-0.005s --gateways 2 --workloads stamp --count 10 \
      --duration 1500 --deadline 8000 --faults clock_moves ;;
  esac
done
exit $wrong
