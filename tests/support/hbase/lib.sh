# What start.sh, stop.sh and thrift.sh share: settings, paths, and functions that start and stop a JVM.
# Source it, do not run it. RUN is the folder of one HBase. All of its processes have "$RUN/conf:" in their
# command line; a pid file whose process lacks it is stale.
#
#   KW_HBASE_RUN    folder for data, logs, pids and configuration   (first argument of the scripts)
#   KW_HBASE_LIB    folder with the jars                            (a cache folder of the user)
#   KW_HBASE_PORTS  "ZOOKEEPER BUFFERED FRAMED" sets the ports     (free ports)
#   KW_HBASE_HEAP   heap of the HBase JVM; the tests do not drop
#                   more than 200 tables, which need 260 MB         (768m)
#   KW_HBASE_THRIFT_HEAP  heap of each Thrift2 JVM                  (192m)
#   KW_HBASE_CONF   more settings of hbase-site.xml: "key=value key=value"
#   KW_HBASE_THRIFT_CONF   the same, for the Thrift2 servers only
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VERSION=$(sed -n 's:.*<hbase.version>\(.*\)</hbase.version>.*:\1:p' "$HERE/pom.xml")
LIB=${KW_HBASE_LIB:-${XDG_CACHE_HOME:-$HOME/.cache}/keyway/hbase-$VERSION}
HEAP=${KW_HBASE_HEAP:-768m}
THRIFT_HEAP=${KW_HBASE_THRIFT_HEAP:-192m}
HB=org.apache.hadoop.hbase

note() { echo "hbase: $*" >&2; }

# Writes the reason for the tests, which then exit as skipped with the same reason.
skip() {
  mkdir -p "$RUN"
  printf "KW_HBASE_SKIP='%s'\n" "$*" >"$RUN/env"
  note "skipped: $*"
  exit 77
}

# Prints the pid of a process of this HBase, or nothing.
pid_of() {
  local pid
  pid=$(cat "$RUN/$1.pid" 2>/dev/null) || return 1
  [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$RUN/conf:" && echo "$pid"
}

# Waits until a command succeeds: seconds, command...
await() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints free ports below the range from which the system assigns ports, so that no other program gets one before the
# JVM listens. Argument: how many.
free_ports() {
  PYTHONDONTWRITEBYTECODE=1 python3 - "$HERE/.." "$1" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from keyway_gateway import free_ports
print(*free_ports(int(sys.argv[2])))
PY
}

# HBase 2.6 on Java 17 needs access to these packages.
java_options() {
  local package
  printf '%s\n' --add-modules=jdk.unsupported --add-exports=java.base/jdk.internal.misc=ALL-UNNAMED
  for package in java.lang java.lang.reflect java.nio java.util java.util.concurrent jdk.internal.ref sun.nio.ch; do
    printf '%s\n' "--add-opens=java.base/$package=ALL-UNNAMED"
  done
}

# Starts a JVM in the background unless it runs: name, heap, class and arguments.
jvm() {
  local name=$1 heap=$2 options
  shift 2
  pid_of "$name" >/dev/null && return 0
  mapfile -t options < <(java_options)
  (
    cd "$RUN"
    exec setsid java "${options[@]}" "-Xmx$heap" -XX:+ExitOnOutOfMemoryError -XX:-UsePerfData \
      -XX:TieredStopAtLevel="${KW_HBASE_JIT:-4}" -cp "$RUN/conf:$LIB/*" "$@"
  ) >"$RUN/logs/$name.log" 2>&1 </dev/null &
  echo $! >"$RUN/$name.pid"
  # pid_of recognises the process only once it is a JVM.
  until pid_of "$name" >/dev/null || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
}

# Stops a process of this HBase: name, seconds until it is killed.
end() {
  local pid until=$((SECONDS + $2))
  pid=$(pid_of "$1") || { rm -f "$RUN/$1.pid"; return 0; }
  kill -TERM "$pid" 2>/dev/null || true
  kill -CONT "$pid" 2>/dev/null || true
  while pid_of "$1" >/dev/null; do
    [ $SECONDS -lt $until ] || kill -KILL "$pid" 2>/dev/null || true
    sleep 0.1
  done
  rm -f "$RUN/$1.pid"
}

# Waits until our master's ZooKeeper listens: port, seconds. The master exits if another process has the port.
await_zookeeper() {
  local end=$((SECONDS + $2))
  until listening "$1" && pid_of master >/dev/null; do
    pid_of master >/dev/null || { note "the master ended; see $RUN/logs/master.log"; return 1; }
    [ $SECONDS -lt $end ] || { note "ZooKeeper does not listen; see $RUN/logs/master.log"; return 1; }
    sleep 0.2
  done
}

# One Thrift2 server: name, port, form ("buffered-binary", "framed-compact", ...).
thrift_server() {
  local name=$1 port=$2 form=$3 arguments=() setting
  for setting in ${KW_HBASE_THRIFT_CONF:-}; do arguments+=("-D$setting"); done
  case $form in framed-*) arguments+=(-f) ;; esac
  case $form in *-compact) arguments+=(-c) ;; esac
  jvm "$name" "$THRIFT_HEAP" $HB.thrift2.ThriftServer "${arguments[@]}" -b 127.0.0.1 -p "$port" start
}

# Waits for a Thrift2 server to answer a call that needs the master: name, port, form, seconds.
thrift_ready() {
  local end=$((SECONDS + $4))
  until python3 "$HERE/probe.py" "$2" "$3" 2>/dev/null; do
    pid_of "$1" >/dev/null || { note "$1 ended; see $RUN/logs/$1.log"; return 1; }
    pid_of master >/dev/null || { note "the master ended; see $RUN/logs/master.log"; return 1; }
    [ $SECONDS -lt $end ] || { note "$1 is not ready; see $RUN/logs"; return 1; }
    sleep 0.3
  done
}
