# Buckets that are chosen at each put, on the embedded store and with two gateways on a real HBase.
set(kw_chosen_path "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")
set(kw_chosen_environment "KEYWAYD=$<TARGET_FILE:keywayd>;${kw_chosen_path};TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(store embedded hbase)
  set(test scenario.chosen_buckets.${store})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/chosen_buckets.py ${store})
  set_tests_properties(${test} PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python ENVIRONMENT "${kw_chosen_environment}")
endforeach()
set_tests_properties(scenario.chosen_buckets.hbase PROPERTIES LABELS "scenario;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77 ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_chosen_environment}")
