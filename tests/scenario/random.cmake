# Random tables, records and questions against a brute-force model; timestamps and many callers.
foreach(play random_questions versions)
  add_test(NAME scenario.${play} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${play}.py)
  set_tests_properties(scenario.${play} PROPERTIES LABELS "scenario;random" TIMEOUT 600 FIXTURES_REQUIRED python
    ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endforeach()

# Keys with calendars and bits, values that the gateway makes, intervals that are read window by window, on both stores.
set(kw_clocks_environment "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(store embedded hbase)
  set(test scenario.random_clocks.${store})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/random_clocks.py ${store})
  set_tests_properties(${test} PROPERTIES LABELS "scenario;random" TIMEOUT 600 FIXTURES_REQUIRED python ENVIRONMENT "${kw_clocks_environment}")
endforeach()
set_tests_properties(scenario.random_clocks.hbase PROPERTIES LABELS "scenario;random;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77 ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_clocks_environment}")
