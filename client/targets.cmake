# kw_thrift_glib: the code that `thrift --gen c_glib` generates from keyway.thrift, fixed by chain_finalizers.py
# and compiled without the project's warnings. keyway_shared, keyway_static: libkeyway. keyway: the program.
set(KW_GLIB_RAW ${CMAKE_CURRENT_BINARY_DIR}/raw)
set(KW_GLIB_GEN ${CMAKE_CURRENT_BINARY_DIR}/gen)
set(KW_GLIB_IDL ${PROJECT_SOURCE_DIR}/thrift/keyway.thrift)
set(KW_GLIB_MEND ${CMAKE_CURRENT_SOURCE_DIR}/chain_finalizers.py)
set(KW_GLIB_STEMS keyway_keyway_types keyway_data keyway_admin)
file(MAKE_DIRECTORY ${KW_GLIB_RAW} ${KW_GLIB_GEN})

set(kw_glib_raw)
set(kw_glib_gen)
set(kw_glib_steps)
foreach(stem ${KW_GLIB_STEMS})
  list(APPEND kw_glib_raw ${KW_GLIB_RAW}/${stem}.c ${KW_GLIB_RAW}/${stem}.h)
  list(APPEND kw_glib_gen ${KW_GLIB_GEN}/${stem}.c ${KW_GLIB_GEN}/${stem}.h)
  list(APPEND kw_glib_steps
    COMMAND Python3::Interpreter ${KW_GLIB_MEND} ${KW_GLIB_RAW}/${stem}.c ${KW_GLIB_GEN}/${stem}.c
    COMMAND ${CMAKE_COMMAND} -E copy ${KW_GLIB_RAW}/${stem}.h ${KW_GLIB_GEN}/${stem}.h)
endforeach()

add_custom_command(OUTPUT ${kw_glib_raw}
  COMMAND ${THRIFT_COMPILER} --gen c_glib -out ${KW_GLIB_RAW} ${KW_GLIB_IDL}
  DEPENDS ${KW_GLIB_IDL}
  COMMENT "Making the Thrift C GLib client of keyway.thrift" VERBATIM)
add_custom_command(OUTPUT ${kw_glib_gen} ${kw_glib_steps}
  DEPENDS ${kw_glib_raw} ${KW_GLIB_MEND}
  COMMENT "Mending the generated C" VERBATIM)

add_library(kw_thrift_glib_objects OBJECT ${kw_glib_gen})
target_include_directories(kw_thrift_glib_objects SYSTEM PUBLIC ${KW_GLIB_GEN})
target_link_libraries(kw_thrift_glib_objects PUBLIC PkgConfig::THRIFT_C_GLIB PkgConfig::GLIB)
target_compile_options(kw_thrift_glib_objects PRIVATE -w -fvisibility=hidden)
if(KEYWAY_SANITIZE) # with optimisation, gcc needs half a minute for it
  target_compile_options(kw_thrift_glib_objects PRIVATE -O0)
endif()
set_target_properties(kw_thrift_glib_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(kw_thrift_glib STATIC)
target_link_libraries(kw_thrift_glib PUBLIC kw_thrift_glib_objects)

add_library(keyway_objects OBJECT
  lib/admin.c lib/advise.c lib/catalog.c lib/changes.c lib/client.c lib/connection.c lib/decode_key.c lib/error.c lib/info.c lib/many.c lib/message.c lib/policy_versions.c lib/query.c
  lib/read.c lib/record.c lib/scan.c lib/scrub.c lib/tls.c lib/transport.c lib/verify.c lib/write.c)
target_include_directories(keyway_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(keyway_objects PRIVATE -fvisibility=hidden)
set_target_properties(keyway_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(keyway_objects PUBLIC kw_thrift_glib_objects PkgConfig::GLIB PkgConfig::OPENSSL PRIVATE kw_flags)

# Objects are listed explicitly: an object library passes its objects only to the targets that link it directly.
foreach(kind shared static)
  string(TOUPPER ${kind} form)
  add_library(keyway_${kind} ${form} $<TARGET_OBJECTS:keyway_objects> $<TARGET_OBJECTS:kw_thrift_glib_objects>)
  target_include_directories(keyway_${kind} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>)
  set_target_properties(keyway_${kind} PROPERTIES OUTPUT_NAME keyway VERSION ${PROJECT_VERSION} SOVERSION 0)
endforeach()
# libkeyway.a must work with any compiler, so its objects contain machine code, not gcc's intermediate code.
set_target_properties(keyway_objects kw_thrift_glib_objects keyway_shared keyway_static PROPERTIES
  INTERPROCEDURAL_OPTIMIZATION OFF)
target_link_libraries(keyway_shared PUBLIC PkgConfig::GLIB PRIVATE PkgConfig::THRIFT_C_GLIB PkgConfig::OPENSSL)
target_link_libraries(keyway_static PUBLIC PkgConfig::GLIB PkgConfig::THRIFT_C_GLIB PkgConfig::OPENSSL)

# keyway, the program. libcsv has no pkg-config file.
find_library(KW_LIBCSV csv REQUIRED)
add_executable(keyway
  cli/diff.c cli/diff_rows.c cli/advise.c cli/advise_html.c cli/advise_json.c cli/advise_plot.c cli/advise_queries.c cli/json_text.c cli/advise_table.c
  cli/allocate.c cli/backup.c cli/batch.c cli/catalog.c cli/catalog_file.c cli/change.c cli/change_diff.c cli/change_command.c cli/change_status.c cli/change_wait.c cli/check.c cli/connect.c cli/count.c cli/count_rows.c cli/create.c cli/decode.c cli/forget.c cli/explain.c cli/explain_json.c cli/json_build.c cli/file.c cli/import.c cli/interrupt.c cli/main.c cli/options.c
  cli/number.c cli/output.c cli/output_json.c cli/output_table.c cli/policy.c cli/policy_apply.c cli/private.c cli/progress.c cli/query_words.c cli/read.c cli/scrub.c cli/scrub_run.c cli/scrub_state.c cli/show.c
  cli/source.c cli/source_array.c cli/source_input.c cli/source_csv.c cli/source_json.c cli/stamp.c cli/terminal.c cli/text.c cli/value.c cli/verify.c cli/verify_print.c cli/verify_state.c cli/versions.c cli/write.c)
target_link_libraries(keyway PRIVATE keyway_static PkgConfig::JSON_GLIB ${KW_LIBCSV} m kw_flags)

include(GNUInstallDirs)
# Where `cmake --install` puts keywayd, from the folder of keyway.
file(RELATIVE_PATH KW_BIN_TO_KEYWAYD /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_SBINDIR}/keywayd)
set_source_files_properties(cli/private.c PROPERTIES COMPILE_DEFINITIONS "KW_BIN_TO_KEYWAYD=\"${KW_BIN_TO_KEYWAYD}\"")
install(TARGETS keyway RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS keyway_shared keyway_static EXPORT keyway-targets DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# find_package(keyway): targets keyway::keyway (shared) and keyway::static.
set_target_properties(keyway_shared PROPERTIES EXPORT_NAME keyway)
set_target_properties(keyway_static PROPERTIES EXPORT_NAME static)
install(EXPORT keyway-targets NAMESPACE keyway:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/keyway)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/keyway-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES keyway-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/keyway-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/keyway)
# Relative to the folder of the .pc file, so that it is also correct with DESTDIR and `cmake --install --prefix`.
file(RELATIVE_PATH KW_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" KW_PC_TO_PREFIX "${KW_PC_TO_PREFIX}")
configure_file(keyway.pc.in ${CMAKE_CURRENT_BINARY_DIR}/keyway.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/keyway.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES keyway.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/man/keyway.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES cli/keyway.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME keyway)
