#!/usr/bin/env bash
# Runs the random tests of a build with new seeds until one fails or the time is over: soak.sh BUILD_FOLDER [MINUTES].
# Prints the seed of a failure; set KW_SEED=N and run ctest to repeat it.
set -euo pipefail
build=${1:?usage: tests/soak.sh BUILD_FOLDER [MINUTES]}
end=$((SECONDS + 60 * ${2:-10}))
rounds=0
export G_SLICE=always-malloc
while ((SECONDS < end)); do
    export KW_SEED=$((RANDOM << 15 | RANDOM))
    ctest --test-dir "$build" -L random -LE hbase --output-on-failure --no-tests=error -j 2 >"$build/soak.log" 2>&1 ||
        { cat "$build/soak.log"; echo "failed with seed $KW_SEED, after $rounds rounds without a failure" >&2; exit 1; }
    rounds=$((rounds + 1))
done
echo "$rounds rounds without a failure"
