#!/usr/bin/env bash
# The main job in a terminal: logical order events go in, the row keys they became, and reads that need
# one row, one range, or sixteen buckets merged back into time order. A gateway with the built-in policy
# must be running; `keyway` is found in PATH, the gateway by KEYWAY_GATEWAY.
set -euo pipefail

if [ -t 1 ]; then
    bold=$(tput bold 2>/dev/null || true) dim=$(tput dim 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)
else
    bold='' dim='' plain=''
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Shows a command as one would type it, and runs it.
show() {
    printf '%s$ %s%s\n' "$dim" "$(printf '%q ' "$@" | sed "s/\\\\=/=/g; s/ \$//")" "$plain"
    "$@"
}

# Twelve orders, three events each, an hour and eleven minutes apart.
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

say '1. Logical records go in. Callers name fields; nobody builds a row key.'
show keyway put order_events order_id=A-1001 ts=2026-11-21T08:11:00Z status=created city=Ulm amount=7.13
events >"$home/events.csv"
(cd "$home" && show keyway import order_events events.csv 2>&1)

say '2. The row keys they became. The policy holds the rules, one for each path to the records.'
show keyway explain order_events --put order_id=A-1001 ts=2026-11-21T08:11:00Z

say '3. All events of an order, newest first: one short range.'
show keyway scan order_events order_id=A-1007

say "4. An order's latest event: one row is read."
show keyway latest order_events order_id=A-1007

say '5. The same events by time: a salt spread them over 16 buckets. The plan reads all of them and merges.'
show keyway explain order_events --path by_time --from ts=2026-11-21T10:00:00Z --to ts=2026-11-21T10:45:00Z

say '6. Fanned out over the buckets, merged back in time order.'
show keyway scan order_events --path by_time --from ts=2026-11-21T10:00:00Z --to ts=2026-11-21T10:45:00Z
