# Crowds of callers at a running gateway, over each store: what each is told is true (crowd_truth.py).
add_executable(test_crowd_truth ${CMAKE_CURRENT_SOURCE_DIR}/crowd_truth.c)
target_link_libraries(test_crowd_truth PRIVATE kw_crowd kw_history kw_idl kw_wire kw_base kw_flags)
set(settings "KEYWAYD=$<TARGET_FILE:keywayd>;KW_CROWD_TRUTH=$<TARGET_FILE:test_crowd_truth>;KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
add_test(NAME scenario.crowd_truth.embedded
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/crowd_truth.py embedded)
set_tests_properties(scenario.crowd_truth.embedded PROPERTIES
  LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python ENVIRONMENT "${settings}")
add_test(NAME scenario.crowd_truth.hbase
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/crowd_truth.py hbase)
set_tests_properties(scenario.crowd_truth.hbase PROPERTIES
  LABELS "scenario;hbase" TIMEOUT 600 FIXTURES_REQUIRED "python;hbase" SKIP_RETURN_CODE 77 RESOURCE_LOCK hbase
  ENVIRONMENT "${settings}")
