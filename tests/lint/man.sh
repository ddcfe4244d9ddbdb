#!/usr/bin/env bash
# Checks the mdoc syntax of the man pages. Arguments: source root, mandoc.
set -u
shopt -s nullglob
pages=("$1"/man/*.[1-9])
[ ${#pages[@]} -ge 6 ] || { echo "man pages are missing: ${pages[*]}"; exit 1; }
"$2" -T lint -W warning "${pages[@]}"
