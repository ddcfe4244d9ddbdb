#!/bin/sh
# run.sh COMPILER SOURCE_FOLDER: builds wrap32.c for 32 bits and runs it. Exits with 77 (skipped) if this machine cannot.
set -e
program=$(mktemp)
trap 'rm -f "$program"' EXIT
here=$2/tests/hostile/wrap32
if ! printf '#include <stdio.h>\nint main(void) { return 0; }\n' | "$1" -m32 -x c -o "$program" - 2>/dev/null ||
    ! "$program"; then
    echo "this machine cannot build or run 32-bit programs" >&2
    exit 77
fi
"$1" -m32 -std=gnu11 -D_GNU_SOURCE -I"$here/shim" -I"$2/server" -o "$program" \
    "$here/wrap32.c" "$2/server/wire/skip.c" "$2/server/wire/decode_error.c"
timeout 60 "$program"
