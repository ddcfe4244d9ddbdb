#!/usr/bin/env bash
# Runs the unit tests of `rule` and `wire` for s390x, a big-endian machine, with qemu-user: run.sh SOURCE_ROOT FOLDER.
# The libraries are Debian's packages for s390x, unpacked into FOLDER/root by an apt-get with files of its own; the system
# stays as it is. Exits with 77 if the cross compiler, qemu-user or these packages are missing.
set -euo pipefail
source=$(realpath "$1") folder=$(realpath -m "$2")
mkdir -p "$folder"

skip() {
    echo "skipped: $1"
    exit 77
}
command -v s390x-linux-gnu-gcc >/dev/null && command -v qemu-s390x >/dev/null || skip "gcc-s390x-linux-gnu or qemu-user is missing"
command -v apt-get >/dev/null || skip "apt-get is missing"

unpack_packages() {
    local apt=$folder/apt packages
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    packages=$(sed -n '/^build=(/,/^)/p' "$source/scripts/setup" | grep -o 'lib[a-z0-9.+-]*-dev')
    local options=(-qq -o APT::Architecture=s390x -o APT::Architectures::=s390x -o Acquire::Retries=5 -o APT::Sandbox::User=
        -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o Debug::NoLocking=1)
    # shellcheck disable=SC2086
    apt-get "${options[@]}" update && apt-get "${options[@]}" install -y --no-install-recommends --download-only $packages || return 1
    for package in "$apt"/archives/*.deb; do
        dpkg-deb -x "$package" "$folder/root"
    done
    rm -r "$apt"
    touch "$folder/.complete"
}
[ -e "$folder/.complete" ] || unpack_packages || skip "the packages for s390x could not be downloaded"

export KW_S390X_ROOT=$folder/root
export PKG_CONFIG_SYSROOT_DIR=$KW_S390X_ROOT
export PKG_CONFIG_LIBDIR=$KW_S390X_ROOT/usr/lib/s390x-linux-gnu/pkgconfig:$KW_S390X_ROOT/usr/share/pkgconfig
cmake -S "$source" -B "$folder/build" -G Ninja --toolchain "$source/tests/support/s390x/toolchain.cmake" -DKEYWAY_WERROR=ON \
    -DKEYWAY_BENCH=OFF
cmake --build "$folder/build" --target unit_rule unit_wire
ctest --test-dir "$folder/build" --output-on-failure --no-tests=error -R '^unit\.(rule|wire)_' -E wire_generator
