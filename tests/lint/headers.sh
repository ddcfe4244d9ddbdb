#!/usr/bin/env bash
# Checks that every header compiles alone. Arguments: source root, build root, C compiler.
set -u
root=$1 build=$2 cc=$3
flags=(-std=gnu11 -D_GNU_SOURCE -DKW_VERSION='"lint"' -fsyntax-only -Wall -Wextra -Werror -x c
    -I "$root/server" -I "$root" -I "$root/client" -I "$build/thrift/include" -I "$build/client/gen")
read -ra packages < <(pkg-config --cflags glib-2.0 libuv openssl json-glib-1.0 thrift_c_glib gobject-2.0 rocksdb)
bad=0 count=0
while IFS= read -r header; do
    count=$((count + 1))
    if ! printf '#include "%s"\n' "$header" | "$cc" "${flags[@]}" "${packages[@]}" -; then
        echo "$header does not compile alone"
        bad=$((bad + 1))
    fi
    grep -q '^#pragma once' "$header" || { echo "$header: no #pragma once"; bad=$((bad + 1)); }
done < <(find "$root/server" "$root/config" "$root/client" -name '*.h' -not -path "$root/client/examples/*" | sort)
echo "$count headers, $bad bad"
[ $count -gt 0 ] && [ $bad -eq 0 ]
