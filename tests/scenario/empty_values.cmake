# Empty and unsayable values in keys, on the embedded store and on a real HBase; by Thrift and by the command.
set(kw_empty_environment
  "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(store embedded hbase)
  set(test scenario.empty_values.${store})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/empty_values.py ${store} $<TARGET_FILE:keyway>)
  set_tests_properties(${test} PROPERTIES LABELS scenario TIMEOUT 300 FIXTURES_REQUIRED python ENVIRONMENT "${kw_empty_environment}")
endforeach()
set_tests_properties(scenario.empty_values.hbase PROPERTIES LABELS "scenario;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77 ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_empty_environment}")
