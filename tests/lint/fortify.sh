#!/bin/sh
# Checks that a build keeps the _FORTIFY_SOURCE of a distribution's flags: fortify.sh SOURCE_ROOT BUILD_FOLDER CMAKE.
set -eu
folder=$2/fortify
rm -rf "$folder"
CFLAGS=-D_FORTIFY_SOURCE=3 "$3" -G Ninja -S "$1" -B "$folder" -DKEYWAY_TESTS=OFF -DKEYWAY_BENCH=OFF >"$folder.log" 2>&1 || {
    cat "$folder.log"
    exit 1
}
if grep -q FORTIFY_SOURCE=2 "$folder/compile_commands.json"; then
    echo "cmake/hardening.cmake replaces -D_FORTIFY_SOURCE=3"
    exit 1
fi
grep -q FORTIFY_SOURCE=3 "$folder/compile_commands.json"
