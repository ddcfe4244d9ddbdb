# kw_idl: the structs and codec tables of keyway.thrift (kw_api_...) and hbase2.thrift (kw_hb_...).
# thrift converts the IDL to JSON, and generate_tables.py converts that to C. Include the results as
# "thrift/keyway_wire.h" and "thrift/hbase2_wire.h".
set(KW_IDL_GENERATOR ${CMAKE_CURRENT_SOURCE_DIR}/generate_tables.py CACHE INTERNAL "")

# kw_idl_tables(IDL PREFIX RET_SOURCES): rules that generate include/thrift/STEM_wire.{h,c} in the present
# build folder from the file IDL, with names prefixed kw_PREFIX_.
function(kw_idl_tables idl prefix ret_sources)
  get_filename_component(stem ${idl} NAME_WE)
  set(json ${CMAKE_CURRENT_BINARY_DIR}/${stem}.json)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/include/thrift)
  set(generated ${folder}/${stem}_wire)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${json}
    COMMAND ${THRIFT_COMPILER} --gen json -out ${CMAKE_CURRENT_BINARY_DIR} ${idl}
    DEPENDS ${idl}
    COMMENT "Reading ${stem}.thrift" VERBATIM)
  add_custom_command(OUTPUT ${generated}.h ${generated}.c
    COMMAND Python3::Interpreter ${KW_IDL_GENERATOR}
            --json ${json} --prefix ${prefix} --name ${stem}_wire --out ${folder}
    DEPENDS ${json} ${KW_IDL_GENERATOR}
    COMMENT "Generating the tables of ${stem}.thrift" VERBATIM)
  set(${ret_sources} ${generated}.c ${generated}.h PARENT_SCOPE)
endfunction()

kw_idl_tables(${CMAKE_CURRENT_SOURCE_DIR}/keyway.thrift api kw_idl_keyway)
kw_idl_tables(${CMAKE_CURRENT_SOURCE_DIR}/hbase2.thrift hb kw_idl_hbase2)

add_library(kw_idl STATIC ${kw_idl_keyway} ${kw_idl_hbase2})
target_include_directories(kw_idl PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/include)
target_link_libraries(kw_idl PUBLIC kw_wire PRIVATE kw_flags)
