#!/usr/bin/env bash
# Runs a command that downloads from a registry: fetch.sh COMMAND... Networks fail at times, so the command runs up to four
# times, with pauses (pip, Maven, npm and Go keep what they downloaded), and a command that hangs is stopped.
# In all builds, commands of one tool wait for each other, because Maven's local repository allows one at a time.
# Their output goes to standard error. The exit status is that of the last try.
set -u
tries=4 pause=5 seconds=${KW_FETCH_SECONDS:-240}
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/keyway
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=${TMPDIR:-/tmp}
exec 8>"$cache/fetch-${1##*/}.lock"
flock 8

# A connection without data fails after a minute instead of half an hour. Each tool also retries by itself.
export MAVEN_OPTS="-Dmaven.wagon.rto=60000 -Dmaven.wagon.http.retryHandler.count=5 -Daether.connector.requestTimeout=60000 ${MAVEN_OPTS:-}"
export npm_config_fetch_retries=${npm_config_fetch_retries:-5}
export PIP_RETRIES=${PIP_RETRIES:-10}

for ((try = 1; ; try++)); do
    timeout -k 10 "$seconds" "$@" >&2 8>&- && exit 0
    status=$?
    [ $try -lt $tries ] || exit $status
    echo "fetch: status $status of: $*; retry in $pause s" >&2
    sleep $pause
    pause=$((pause * 2))
done
