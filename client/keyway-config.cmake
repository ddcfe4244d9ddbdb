# find_package(keyway): keyway::keyway is libkeyway.so, keyway::static libkeyway.a; header keyway.h.
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
pkg_check_modules(GLIB REQUIRED QUIET IMPORTED_TARGET glib-2.0)
# Packages that only the static library needs; without them, keyway::static cannot be linked.
pkg_check_modules(OPENSSL QUIET IMPORTED_TARGET openssl)
pkg_check_modules(THRIFT_C_GLIB QUIET IMPORTED_TARGET thrift_c_glib gobject-2.0)
include(${CMAKE_CURRENT_LIST_DIR}/keyway-targets.cmake)
