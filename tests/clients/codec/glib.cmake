# kw_test_glib: the unchanged code that `thrift --gen c_glib` generates from the IDL files: the reference of the codec in
# the differential tests and in benchmarks. It is known to leak.
if(TARGET kw_test_glib)
  return()
endif()
set(folder ${CMAKE_CURRENT_BINARY_DIR}/glib)
set(stems keyway_hbase_hbase2_types keyway_hbase_t_h_base_service keyway_keyway_types keyway_data)
list(TRANSFORM stems PREPEND ${folder}/ OUTPUT_VARIABLE made)
list(TRANSFORM made APPEND .c OUTPUT_VARIABLE made_c)
list(TRANSFORM made APPEND .h OUTPUT_VARIABLE made_h)
file(MAKE_DIRECTORY ${folder})
add_custom_command(OUTPUT ${made_c} ${made_h}
  COMMAND ${THRIFT_COMPILER} --gen c_glib -out ${folder} ${PROJECT_SOURCE_DIR}/thrift/hbase2.thrift
  COMMAND ${THRIFT_COMPILER} --gen c_glib -out ${folder} ${PROJECT_SOURCE_DIR}/thrift/keyway.thrift
  DEPENDS ${PROJECT_SOURCE_DIR}/thrift/hbase2.thrift ${PROJECT_SOURCE_DIR}/thrift/keyway.thrift
  COMMENT "Making Thrift C GLib code to compare with" VERBATIM)
add_library(kw_test_glib STATIC ${made_c})
target_include_directories(kw_test_glib SYSTEM PUBLIC ${folder})
target_compile_options(kw_test_glib PRIVATE -w)
target_link_libraries(kw_test_glib PUBLIC PkgConfig::THRIFT_C_GLIB PkgConfig::GLIB)
