#!/usr/bin/env bash
# Starts a real HBase and two Thrift2 servers, one buffered binary and one framed compact, on free ports of
# 127.0.0.1: start.sh RUN_FOLDER. Returns after both have replied. A second call starts only the processes that
# no longer run. RUN_FOLDER/env contains the addresses for the tests (KW_HBASE_BUFFERED and
# KW_HBASE_FRAMED as host:port, KW_HBASE_ZOOKEEPER as port). The settings are at the head of lib.sh.
#
# A new HBase that does not start is started a second time with other ports, in case another program took one. The data
# of a killed HBase is removed; an HBase that `stop.sh --keep` stopped continues with its data.
#
# Without Java or Maven (or jars fetched before) the script exits with 77, which ctest shows as "Skipped", and
# RUN_FOLDER/env contains the reason as KW_HBASE_SKIP for the tests.
set -euo pipefail
RUN=$(realpath -m "${1:-${KW_HBASE_RUN:?give a folder for data and logs}}")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$HERE/site.sh"

fetch_jars() {
  [ -e "$LIB/.complete" ] && return 0
  command -v mvn >/dev/null || skip "mvn (Maven) is not installed and the jars of HBase are not in $LIB"
  note "fetching HBase $VERSION into $LIB"
  mkdir -p "$LIB"
  "$HERE/../fetch.sh" mvn -q -B -f "$HERE/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$LIB" ||
    skip "Maven could not fetch HBase $VERSION"
  touch "$LIB/.complete"
}

any_alive() {
  pid_of master || pid_of thrift-buffered || pid_of thrift-framed
} >/dev/null

ports() {
  if any_alive && [ -s "$RUN/ports" ]; then
    cat "$RUN/ports"
  else
    echo "${KW_HBASE_PORTS:-$(free_ports 3)}" | tee "$RUN/ports"
  fi
}

write_env() {
  cat >"$RUN/env" <<ENV
KW_HBASE_ZOOKEEPER=$zookeeper
KW_HBASE_BUFFERED=127.0.0.1:$buffered
KW_HBASE_FRAMED=127.0.0.1:$framed
ENV
}

was_killed() {
  ! any_alive && { [ -e "$RUN/master.pid" ] || [ -e "$RUN/thrift-buffered.pid" ]; }
}

start_all() {
  read -r zookeeper buffered framed < <(ports)
  write_site "$zookeeper"
  jvm master "$HEAP" $HB.master.HMaster start --localRegionServers=1
  await_zookeeper "$zookeeper" 300 || return 1
  thrift_server thrift-buffered "$buffered" buffered-binary
  thrift_server thrift-framed "$framed" framed-compact
  thrift_ready thrift-buffered "$buffered" buffered-binary 300 && thrift_ready thrift-framed "$framed" framed-compact 300
}

end_all() {
  local name
  for name in thrift-buffered thrift-framed master; do
    end $name 0
    [ ! -e "$RUN/logs/$name.log" ] || mv "$RUN/logs/$name.log" "$RUN/logs/$name.failed.log"
  done
}

command -v java >/dev/null || skip "java is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
mkdir -p "$RUN"
rm -f "$RUN/env"
fetch_jars
was_killed && rm -rf "$RUN/data"
new=false
[ -e "$RUN/data" ] || new=true
if ! start_all; then
  $new || exit 1
  note "it did not start; second try"
  end_all
  rm -rf "$RUN/data"
  start_all
fi
write_env
note "ready: buffered binary on $buffered, framed compact on $framed"
