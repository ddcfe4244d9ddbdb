# kw_needs_hbase(TEST...): the properties that tests of a real HBase have in common; see CMakeLists.txt. One
# at a time: two cores do not carry more than one caller_group on one HBase within its time limits.
include_guard(GLOBAL)
set(KW_HBASE_RUN ${CMAKE_BINARY_DIR}/hbase CACHE INTERNAL "Folder of the tests' HBase")
set(KW_HBASE_SCRIPTS ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "start.sh and its friends")

function(kw_needs_hbase)
  set_tests_properties(${ARGN} PROPERTIES FIXTURES_REQUIRED hbase SKIP_RETURN_CODE 77 RESOURCE_LOCK hbase
    ENVIRONMENT "KW_HBASE_ENV=${KW_HBASE_RUN}/env;KW_HBASE_RUN=${KW_HBASE_RUN};KW_HBASE_SCRIPTS=${KW_HBASE_SCRIPTS}")
endfunction()
