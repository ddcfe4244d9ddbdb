#!/bin/sh
# run.sh SOURCE_FOLDER: builds wrap32.c for 32 bits and runs it. Exits with 77 (skipped) if this machine cannot.
set -e
compiler=i686-linux-gnu-gcc
program=$(mktemp)
trap 'rm -f "$program"' EXIT
here=$1/tests/hostile/wrap32
if ! printf '#include <stdio.h>\nint main(void) { return 0; }\n' | "$compiler" -static -x c -o "$program" - 2>/dev/null ||
    ! "$program"; then
    echo "this machine cannot build or run 32-bit programs" >&2
    exit 77
fi
"$compiler" -static -std=gnu11 -Wno-psabi -D_GNU_SOURCE -I"$here/shim" -I"$1/server" -o "$program" \
    "$here/wrap32.c" "$1/server/wire/skip.c" "$1/server/wire/decode_error.c"
timeout 60 "$program"
