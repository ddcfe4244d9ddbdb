#!/usr/bin/env bash
# Starts another Thrift2 server over an HBase that start.sh started, for tests that kill it or pause it:
#   thrift.sh RUN_FOLDER start NAME FORM [PORT]   prints its port when it replies
#   thrift.sh RUN_FOLDER kill NAME                kill -9
#   thrift.sh RUN_FOLDER freeze NAME | thaw NAME  SIGSTOP, SIGCONT
#   thrift.sh RUN_FOLDER stop NAME                stops it in an orderly way
# FORM is buffered-binary, framed-compact, ...; with PORT, a killed server restarts on its port.
set -euo pipefail
RUN=$(realpath -m "$1")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
name=thrift-$3
is_gone() { ! pid_of "$1" >/dev/null; }
case $2 in
start)
  port=${5:-$(free_ports 1)}
  thrift_server "$name" "$port" "$4"
  thrift_ready "$name" "$port" "$4" 300
  echo "$port"
  ;;
kill) kill -KILL "$(pid_of "$name")" && await 60 is_gone "$name" ;;
freeze) kill -STOP "$(pid_of "$name")" ;;
thaw) kill -CONT "$(pid_of "$name")" ;;
stop) end "$name" 10 ;;
*) echo "unknown: $2" >&2; exit 2 ;;
esac
