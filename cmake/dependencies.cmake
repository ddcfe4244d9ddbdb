# The libraries from the system's packages (scripts/setup installs them), each as an imported target. The versions are those of
# Debian 12, the oldest ones that Keyway is tested with.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(THRIFT_COMPILER thrift REQUIRED)

pkg_check_modules(GLIB REQUIRED IMPORTED_TARGET "glib-2.0>=2.74")
pkg_check_modules(UV REQUIRED IMPORTED_TARGET "libuv>=1.44")
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET "yaml-0.1>=0.2.5")
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET "openssl>=3.0")
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET "libxxhash>=0.8.1")
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET "hiredis>=0.14.1")
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET "libpcre2-8>=10.42")
pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET "rocksdb>=7.8")
# Sanitizers bring an allocator of their own.
if(NOT KEYWAY_SANITIZE AND NOT KEYWAY_FUZZ)
  pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET "jemalloc>=5.2")
endif()
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET "libmicrohttpd>=0.9.75")
# Without libsystemd keywayd does not report to a service manager.
pkg_check_modules(SYSTEMD IMPORTED_TARGET libsystemd>=252)
pkg_check_modules(THRIFT_C_GLIB REQUIRED IMPORTED_TARGET "thrift_c_glib>=0.17" gobject-2.0)
pkg_check_modules(JSON_GLIB REQUIRED IMPORTED_TARGET "json-glib-1.0>=1.6.6")
