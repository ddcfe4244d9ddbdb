#!/usr/bin/env bash
# Runs a command that fetches from a registry: fetch.sh COMMAND... Networks fail now and then, so it is tried again (four
# times in all, with pauses; what came meanwhile is kept by pip, Maven, npm and Go), and one that hangs is ended.
# Commands of one tool wait for each other, in all builds: Maven's local repository bears one at a time. They say what
# they have to say on standard error. The status is that of the last try.
set -u
tries=4 pause=5 seconds=${KW_FETCH_SECONDS:-240}
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/keyway
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=${TMPDIR:-/tmp}
exec 8>"$cache/fetch-${1##*/}.lock"
flock 8

# Silent connections are given up after a minute instead of half an hour; each tool tries again by itself, too.
export MAVEN_OPTS="-Dmaven.wagon.rto=60000 -Dmaven.wagon.http.retryHandler.count=5 -Daether.connector.requestTimeout=60000 ${MAVEN_OPTS:-}"
export npm_config_fetch_retries=${npm_config_fetch_retries:-5}
export PIP_RETRIES=${PIP_RETRIES:-10}

for ((try = 1; ; try++)); do
    timeout -k 10 "$seconds" "$@" >&2 8>&- && exit 0
    status=$?
    [ $try -lt $tries ] || exit $status
    echo "fetch: status $status of: $*; once more in $pause s" >&2
    sleep $pause
    pause=$((pause * 2))
done
