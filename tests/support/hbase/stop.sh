#!/usr/bin/env bash
# Stops what start.sh (and thrift.sh) started and removes its data: stop.sh RUN_FOLDER [--keep].
# Kills the processes, because a test's data is not needed any more; --keep stops them in an orderly way and keeps the
# data. The logs are always kept.
set -euo pipefail
RUN=$(realpath -m "${1:-${KW_HBASE_RUN:?give the folder that start.sh was given}}")
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -d "$RUN" ] || exit 0
patience=0
[ "${2:-}" = --keep ] && patience=20
for file in "$RUN"/thrift-*.pid "$RUN/master.pid"; do
  [ -e "$file" ] && end "$(basename "$file" .pid)" "$patience"
done
rm -f "$RUN/env" "$RUN/ports"
[ "${2:-}" = --keep ] || rm -rf "$RUN/data" "$RUN/conf"
