#!/usr/bin/env bash
# A real HBase whose processes can be killed one by one: ZooKeeper, master, region servers rs1, rs2, ... and the Thrift2
# servers thrift-1 and thrift-2 (framed compact), each in its own JVM.
#   cluster.sh RUN_FOLDER start COUNT   COUNT region servers; prints the ports of the two Thrift2 servers
#   cluster.sh RUN_FOLDER kill NAME     kill -9
#   cluster.sh RUN_FOLDER again NAME    restarts a killed process on its port; returns when a Thrift2 server replies
#   cluster.sh RUN_FOLDER pid NAME
#   cluster.sh RUN_FOLDER classpath     for a program that uses HBase's client
#   cluster.sh RUN_FOLDER stop          kills all processes and removes the data; keeps the logs
# The settings are at the head of lib.sh. The file RUN_FOLDER/clock-NAME sets the clock of a process, in the form of
# libfaketime's FAKETIME ("+0.02s"). A change to the file while the process runs moves its clock within a second.
set -euo pipefail
RUN=$(realpath -m "$1")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$HERE/site.sh"
FAKETIME_LIBRARY=/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketime.so.1

# Like jvm, but the JVM has its own clock if the file RUN/clock-NAME exists.
jvm_with_clock() {
  [ -e "$RUN/clock-$1" ] || { jvm "$@"; return; }
  LD_PRELOAD=$FAKETIME_LIBRARY FAKETIME_TIMESTAMP_FILE=$RUN/clock-$1 FAKETIME_CACHE_DURATION=1 DONT_FAKE_MONOTONIC=1 \
    FAKETIME_DONT_FAKE_MONOTONIC=1 jvm "$@"
}

launch() { # name
  read -r zookeeper first second <"$RUN/ports"
  case $1 in
  zookeeper) jvm_with_clock zookeeper 128m $HB.zookeeper.HQuorumPeer start ;;
  master) jvm_with_clock master "$HEAP" $HB.master.HMaster start ;;
  rs*) jvm_with_clock "$1" "$HEAP" $HB.regionserver.HRegionServer start ;;
  thrift-1) thrift_server thrift-1 "$first" framed-compact ;;
  thrift-2) thrift_server thrift-2 "$second" framed-compact ;;
  *) echo "unknown process: $1" >&2; exit 2 ;;
  esac
}

ready() { # name of a Thrift2 server
  read -r zookeeper first second <"$RUN/ports"
  case $1 in
  thrift-1) thrift_ready thrift-1 "$first" framed-compact 300 ;;
  thrift-2) thrift_ready thrift-2 "$second" framed-compact 300 ;;
  esac
}

names() { sed 's:.*/::; s:[.]pid$::' < <(ls "$RUN"/*.pid 2>/dev/null); }
is_gone() { ! pid_of "$1" >/dev/null; }

case $2 in
start)
  mkdir -p "$RUN/conf" "$RUN/logs"
  [ -s "$RUN/ports" ] || free_ports 3 >"$RUN/ports"
  read -r zookeeper first second <"$RUN/ports"
  export KW_HBASE_CONF="hbase.cluster.distributed=true hbase.master.wait.on.regionservers.mintostart=$3 ${KW_HBASE_CONF:-}"
  write_site "$zookeeper"
  launch zookeeper
  await 300 listening "$zookeeper" || { note "ZooKeeper does not listen; see $RUN/logs/zookeeper.log"; exit 1; }
  launch master
  for number in $(seq "$3"); do launch "rs$number"; done
  launch thrift-1
  launch thrift-2
  ready thrift-1
  ready thrift-2
  echo "$first $second"
  ;;
kill) kill -KILL "$(pid_of "$3")" && await 60 is_gone "$3" ;;
again) launch "$3" && ready "$3" ;;
pid) pid_of "$3" ;;
classpath) echo "$RUN/conf:$LIB/*" ;;
stop)
  for name in $(names); do end "$name" 0; done
  rm -rf "$RUN/data" "$RUN/conf" "$RUN/ports" "$RUN"/clock-*
  ;;
*) echo "unknown: $2" >&2; exit 2 ;;
esac
