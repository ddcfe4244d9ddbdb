#!/usr/bin/env bash
# Fails if a Python file uses an undefined name, or imports one that it does not use: python.sh ROOT PYFLAKES
set -euo pipefail
cd "$1"
find client tests thrift -name '*.py' -not -path '*/node_modules/*' -print0 | xargs -0 "$2"
