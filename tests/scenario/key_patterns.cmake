# Conditions on fields of the key behind a gap, with and without patterns of keys, on both stores.
set(kw_patterns_path "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")
set(kw_patterns_environment "KEYWAYD=$<TARGET_FILE:keywayd>;${kw_patterns_path};TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(store embedded hbase)
  set(test scenario.key_patterns.${store})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/key_patterns.py ${store})
  set_tests_properties(${test} PROPERTIES LABELS "scenario;random" TIMEOUT 300 FIXTURES_REQUIRED python ENVIRONMENT "${kw_patterns_environment}")
endforeach()
set_tests_properties(scenario.key_patterns.hbase PROPERTIES LABELS "scenario;random;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77 ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_patterns_environment}")
