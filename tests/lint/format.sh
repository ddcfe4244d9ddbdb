#!/usr/bin/env bash
# Checks that clang-format would change no C file. Arguments: source root, clang-format.
set -u
cd "$1" || exit 1
if ! "$2" --version | grep -q 'version 14\.'; then
    echo "skipped: .clang-format needs clang-format 14"
    exit 0
fi
find server config client tests -name '*.[ch]' -not -path '*/node_modules/*' -print0 | sort -z |
    xargs -0 "$2" --dry-run --Werror
