#!/usr/bin/env bash
# Measures how many small faults (mutants) the unit tests find:
#
#   mutate.sh BUILD_FOLDER [SEED [SIZE]] [--module NAME]... [--second BUILD_FOLDER] [--again]
#
# Changes one operator or constant, or removes one statement, in a private copy of one file of
# server/{rule,schema,plan,gather,path,wire,net}; compiles the copy, links the module's unit tests with it and runs
# them. A mutant is killed if a test fails, crashes or hangs, and survives if all pass. SIZE mutants (300) are divided
# equally among the modules. The unit tests must have been built; --second is a build with sanitizers, for example,
# that tries the survivors of the first.
#
# The results are in BUILD_FOLDER/mutants/: the same command continues after an interruption, and --again tries the
# survivors again after you added tests. tests/mutants-equivalent.txt lists mutants that no test can kill. The exit
# status is 0 if at least 85 % of the others were killed.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/support/mutants/mutate.py" "$@"
