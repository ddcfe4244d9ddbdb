# kw_thrift_glib: what `thrift --gen c_glib` makes of keyway.thrift, mended (see chain_finalizers.py) and
# compiled without our warnings. keyway_shared, keyway_static: libkeyway. keyway_cli: the program `keyway`.
set(KW_GLIB_RAW ${CMAKE_CURRENT_BINARY_DIR}/raw)
set(KW_GLIB_GEN ${CMAKE_CURRENT_BINARY_DIR}/gen)
set(KW_GLIB_IDL ${CMAKE_CURRENT_BINARY_DIR}/idl/keyway.thrift)
set(KW_GLIB_MEND ${CMAKE_CURRENT_SOURCE_DIR}/chain_finalizers.py)
set(KW_GLIB_STEMS keyway_keyway_types keyway_data keyway_admin)
file(MAKE_DIRECTORY ${KW_GLIB_RAW} ${KW_GLIB_GEN} ${CMAKE_CURRENT_BINARY_DIR}/idl)

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
  COMMAND Python3::Interpreter ${KW_GLIB_MEND} --idl ${PROJECT_SOURCE_DIR}/thrift/keyway.thrift ${KW_GLIB_IDL}
  COMMAND ${THRIFT_COMPILER} --gen c_glib -out ${KW_GLIB_RAW} ${KW_GLIB_IDL}
  DEPENDS ${PROJECT_SOURCE_DIR}/thrift/keyway.thrift ${KW_GLIB_MEND}
  COMMENT "Making the Thrift C GLib client of keyway.thrift" VERBATIM)
add_custom_command(OUTPUT ${kw_glib_gen} ${kw_glib_steps}
  DEPENDS ${kw_glib_raw} ${KW_GLIB_MEND}
  COMMENT "Mending the generated C" VERBATIM)

add_library(kw_thrift_glib STATIC ${kw_glib_gen})
target_include_directories(kw_thrift_glib SYSTEM PUBLIC ${KW_GLIB_GEN})
target_link_libraries(kw_thrift_glib PUBLIC PkgConfig::THRIFT_C_GLIB PkgConfig::GLIB)
target_compile_options(kw_thrift_glib PRIVATE -w -fvisibility=hidden)
set_target_properties(kw_thrift_glib PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(keyway_objects OBJECT
  lib/admin.c lib/client.c lib/connection.c lib/error.c lib/info.c lib/many.c lib/message.c lib/query.c
  lib/read.c lib/record.c lib/scan.c lib/tls.c lib/transport.c lib/write.c)
target_include_directories(keyway_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(keyway_objects PRIVATE -fvisibility=hidden)
set_target_properties(keyway_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(keyway_objects PUBLIC kw_thrift_glib PkgConfig::GLIB PkgConfig::OPENSSL PRIVATE kw_flags)

add_library(keyway_shared SHARED)
target_link_libraries(keyway_shared PRIVATE keyway_objects)
target_link_options(keyway_shared PRIVATE LINKER:--exclude-libs,ALL)
add_library(keyway_static STATIC)
target_link_libraries(keyway_static PUBLIC keyway_objects)
foreach(kind shared static)
  target_include_directories(keyway_${kind} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  set_target_properties(keyway_${kind} PROPERTIES OUTPUT_NAME keyway VERSION ${PROJECT_VERSION} SOVERSION 0)
endforeach()
target_link_libraries(keyway_shared PUBLIC PkgConfig::GLIB)
