# kw_idl: the structs and codec tables of keyway.thrift (kw_api_...) and hbase2.thrift (kw_hb_...).
# thrift turns the IDL into JSON, generate_tables.py turns that into C. Include them as
# "thrift/keyway_wire.h" and "thrift/hbase2_wire.h".
set(KW_IDL_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/include)
set(KW_IDL_OUT ${KW_IDL_INCLUDE}/thrift)
file(MAKE_DIRECTORY ${KW_IDL_OUT})

set(kw_idl_sources)
function(kw_idl_tables idl prefix)
  set(json ${CMAKE_CURRENT_BINARY_DIR}/${idl}.json)
  set(stem ${KW_IDL_OUT}/${idl}_wire)
  add_custom_command(OUTPUT ${json}
    COMMAND ${THRIFT_COMPILER} --gen json -out ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${idl}.thrift
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${idl}.thrift
    COMMENT "Reading ${idl}.thrift" VERBATIM)
  add_custom_command(OUTPUT ${stem}.h ${stem}.c
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/generate_tables.py
            --json ${json} --prefix ${prefix} --name ${idl}_wire --out ${KW_IDL_OUT}
    DEPENDS ${json} ${CMAKE_CURRENT_SOURCE_DIR}/generate_tables.py
    COMMENT "Making the tables of ${idl}.thrift" VERBATIM)
  set(kw_idl_sources ${kw_idl_sources} ${stem}.c ${stem}.h PARENT_SCOPE)
endfunction()

kw_idl_tables(keyway api)
kw_idl_tables(hbase2 hb)

add_library(kw_idl STATIC ${kw_idl_sources})
target_include_directories(kw_idl PUBLIC ${KW_IDL_INCLUDE} ${PROJECT_SOURCE_DIR}/server)
target_link_libraries(kw_idl PUBLIC kw_wire PRIVATE kw_flags)
