# Callers that misbehave, and a gateway that starts, reloads, drains and ends as it should. They run under the
# sanitizers, too. KEYWAYD names the program.
foreach(play hostile_input hostile_crowd gateway_start gateway_reload gateway_drain gateway_tls gateway_methods)
  add_test(NAME scenario.${play}
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${play}.py)
  set_tests_properties(scenario.${play} PROPERTIES
    LABELS hostile TIMEOUT 600 FIXTURES_REQUIRED python
    ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endforeach()

# With a real HBase that comes, goes and comes back.
add_test(NAME scenario.gateway_hbase COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/gateway_hbase.py)
set_tests_properties(scenario.gateway_hbase PROPERTIES
  LABELS "scenario;hbase" TIMEOUT 600 FIXTURES_REQUIRED "python;hbase" SKIP_RETURN_CODE 77
  ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")

# With one that is killed and started again.
add_test(NAME scenario.hbase_killed COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/hbase_killed.py)
set_tests_properties(scenario.hbase_killed PROPERTIES
  LABELS "scenario;hbase" TIMEOUT 600 FIXTURES_REQUIRED python SKIP_RETURN_CODE 77
  ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")
