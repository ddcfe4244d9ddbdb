#!/bin/sh
# clang.sh SOURCE_FOLDER: builds fuzz_filter with clang's sanitizers, which find more than gcc's (for example an offset
# added to NULL), and runs it with its corpus. Exits with 77 (skipped) without clang.
set -e
command -v clang >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$1"
clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE -Itests -Iserver -I. \
    $(pkg-config --cflags glib-2.0 libpcre2-8 libxxhash libuv) -o "$folder/fuzz_filter" \
    tests/fuzz/fuzz_filter.c server/filter/*.c server/base/arena.c server/base/bytes.c server/base/clock.c \
    server/base/guard.c server/base/shortage.c server/base/budget.c server/base/metrics.c server/base/effort.c server/base/error.c $(pkg-config --libs glib-2.0 libpcre2-8 libxxhash) -lpthread
"$folder/fuzz_filter" -artifact_prefix="$folder/" -runs=0 tests/fuzz/corpus/filter
