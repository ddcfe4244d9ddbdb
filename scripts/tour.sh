#!/usr/bin/env bash
# A tour of Keyway in a terminal: writes order events, shows their row keys, and runs queries that read one row, one
# range, or sixteen buckets merged in time order. Needs a running gateway with the built-in policy, `keyway` in PATH,
# and the gateway's address in KEYWAY_GATEWAY if it is not the default one.
set -euo pipefail

if [ -t 1 ]; then
    bold=$(tput bold 2>/dev/null || true) dim=$(tput dim 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)
else
    bold='' dim='' plain=''
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Prints a command in the form in which a user types it, and runs it.
show() {
    printf '%s$ %s%s\n' "$dim" "$(printf '%q ' "$@" | sed "s/\\\\=/=/g; s/ \$//")" "$plain"
    "$@"
}

# Twelve orders with three events each. Orders begin 11 minutes apart; the events of an order are an hour apart.
events() {
    local order step city minute
    local -a statuses=(created paid shipped) cities=(Kiel Ulm Bremen Jena)
    echo 'order_id,ts,status,city,amount'
    for order in {1..12}; do
        city=${cities[order % 4]}
        for step in 0 1 2; do
            minute=$((order * 11 + step * 60))
            printf 'A-%d,2026-11-21T%02d:%02d:00Z,%s,%s,%d.%02d\n' $((1000 + order)) $((8 + minute / 60)) \
                $((minute % 60)) "${statuses[step]}" "$city" $((order * 7)) $((order * 13 % 100))
        done
    done
}

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

say '1. Write records. Callers name fields; no caller builds a row key.'
show keyway put order_events order_id=A-1001 ts=2026-11-21T08:11:00Z status=created city=Ulm amount=7.13
events >"$home/events.csv"
(cd "$home" && show keyway import order_events events.csv 2>&1)

say '2. The row keys of a record. The policy contains one key rule for each path.'
show keyway explain order_events --put order_id=A-1001 ts=2026-11-21T08:11:00Z

say '3. All events of an order, newest first: reads one short range.'
show keyway scan order_events order_id=A-1007

say "4. An order's latest event: reads one row."
show keyway latest order_events order_id=A-1007

say '5. The plan of a query by time. A salt spreads events over 16 buckets; the plan reads all of them and merges the rows.'
show keyway explain order_events --path by_time --from ts=2026-11-21T10:00:00Z --to ts=2026-11-21T10:45:00Z

say '6. The query itself: rows of all buckets, in time order.'
show keyway scan order_events --path by_time --from ts=2026-11-21T10:00:00Z --to ts=2026-11-21T10:45:00Z
