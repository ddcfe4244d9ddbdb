#!/usr/bin/env bash
# Runs the driver of one language against the codec: drive.sh LANGUAGE PIPE SOURCE BUILD THRIFT
#   LANGUAGE  glib, python, java, go or node     PIPE   the program kw-codec-pipe
#   SOURCE    root of the source tree            BUILD  folder for generated code and fetched runtimes
# Packages are downloaded once, from the language's own registry, and stay in BUILD. KW_SEED repeats a
# run; KW_TEST_PYTHON and KW_DRIVE_GLIB name the Python to use and the compiled C GLib driver.
set -euo pipefail
language=$1 pipe=$2 source=$3 build=$4/$1 thrift=$5
here=$source/tests/clients/codec
fetch=$source/tests/support/fetch.sh
seed=${KW_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
rounds=${KW_ROUNDS:-200}
mkdir -p "$build"
exec 9>"$build.lock"
flock 9

# generate OPTIONS...: generates the code of both IDL files in $build/gen.
generate() {
    rm -rf "$build/gen"
    mkdir -p "$build/gen"
    for idl in keyway hbase2; do
        "$thrift" "$@" -out "$build/gen" "$source/thrift/$idl.thrift"
    done
}

drive_glib() {
    # The generated code is known to leak.
    ASAN_OPTIONS=detect_leaks=0 "$KW_DRIVE_GLIB" "$pipe" "$seed" "$rounds"
}

drive_python() {
    generate --gen py
    PYTHONPATH=$build/gen "${KW_TEST_PYTHON:-python3}" "$here/drive_python.py" "$pipe" "$seed" "$rounds"
}

run_java() {
    java -cp "$build/classes:$build/jars/*" DriveJava "$pipe" "$seed" "$rounds" 2>"$build/java.log" ||
        { cat "$build/java.log"; exit 1; }
}

drive_java() {
    if [ ! -e "$build/fetched" ]; then
        (cd "$build" && for jar in org.apache.thrift:libthrift:0.17.0 org.slf4j:slf4j-api:1.7.36; do
            "$fetch" mvn -q -B dependency:copy "-Dartifact=$jar" "-DoutputDirectory=$build/jars"
        done)
        touch "$build/fetched"
    fi
    compiled=$build/classes/DriveJava.class
    if [ "$compiled" -nt "$here/DriveJava.java" ] && [ "$compiled" -nt "$source/thrift/keyway.thrift" ] &&
        [ "$compiled" -nt "$source/thrift/hbase2.thrift" ]; then
        run_java
        return
    fi
    generate --gen java:generated_annotations=suppress
    mkdir -p "$build/classes"
    find "$build/gen" -name '*.java' -printf '"%p"\n' >"$build/sources"
    javac -nowarn -Xlint:none -encoding UTF-8 -cp "$build/jars/*" -d "$build/classes" \
        "@$build/sources" "$here/DriveJava.java" 2>"$build/javac.log" || { cat "$build/javac.log"; exit 1; }
    run_java
}

drive_go() {
    generate --gen go:package_prefix=codec/
    mkdir -p "$build/module"
    rm -rf "$build/module/keyway" "$build/module/keyway_hbase"
    cp -r "$build/gen/keyway" "$build/gen/keyway_hbase" "$here/drive_go.go" "$build/module"
    rm -rf "$build"/module/*/*-remote
    cd "$build/module"
    export GOFLAGS=-mod=mod
    if [ ! -e "$build/fetched" ]; then
        [ -e go.mod ] || go mod init codec
        "$fetch" go get github.com/apache/thrift@v0.17.0
        touch "$build/fetched"
    fi
    go build -o drive .
    ./drive "$pipe" "$seed" "$rounds"
}

drive_node() {
    if [ ! -e "$build/fetched" ]; then
        "$fetch" npm install --silent --no-audit --no-fund --prefix "$build" thrift@0.17.0
        touch "$build/fetched"
    fi
    generate --gen js:node
    NODE_PATH=$build/node_modules KW_GEN=$build/gen node "$here/drive_node.js" "$pipe" "$seed" "$rounds"
}

echo "seed $seed"
"drive_$language"
