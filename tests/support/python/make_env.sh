#!/usr/bin/env bash
# Creates the Python environment of the tests: a venv with the Thrift runtime, and the code that the Thrift
# compiler generates from thrift/keyway.thrift and thrift/hbase2.thrift. The venv is created only once. With the system's package
# python3-thrift nothing is downloaded.
# Arguments: source root, folder to make, Thrift compiler.
set -euo pipefail
source=$1 env=$2 thrift=$3
exec 9>"$env.lock"
flock 9
if [ ! -e "$env/.complete" ]; then
    rm -rf "$env"
    if /usr/bin/python3 -c 'import thrift.Thrift' 2>/dev/null; then
        /usr/bin/python3 -m venv --system-site-packages --without-pip "$env"
    else
        python3 -m venv "$env"
        "$source/tests/support/fetch.sh" "$env/bin/pip" install -q --disable-pip-version-check thrift==0.25.0
    fi
    touch "$env/.complete"
fi
mkdir -p "$env/gen"
for idl in keyway hbase2; do
    "$thrift" -out "$env/gen" --gen py "$source/thrift/$idl.thrift"
done
"$env/bin/python" -c 'import thrift.Thrift'
