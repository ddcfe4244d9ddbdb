# kw_needs_hbase(TEST...) sets the properties that all tests with a real HBase share; see CMakeLists.txt. They run one at
# a time: on two cores, one HBase cannot serve the load of two tests within their time limits.
include_guard(GLOBAL)
set(KW_HBASE_RUN ${CMAKE_BINARY_DIR}/hbase CACHE INTERNAL "Folder of the tests' HBase")
set(KW_HBASE_SCRIPTS ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "Folder of start.sh and the other scripts")

function(kw_needs_hbase)
  set_tests_properties(${ARGN} PROPERTIES FIXTURES_REQUIRED hbase SKIP_RETURN_CODE 77 RESOURCE_LOCK hbase
    ENVIRONMENT "KW_HBASE_ENV=${KW_HBASE_RUN}/env;KW_HBASE_RUN=${KW_HBASE_RUN};KW_HBASE_SCRIPTS=${KW_HBASE_SCRIPTS}")
endfunction()
