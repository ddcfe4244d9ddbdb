# Random tables, records and questions against a brute-force model; timestamps and many callers.
foreach(play random_questions versions)
  add_test(NAME scenario.${play} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${play}.py)
  set_tests_properties(scenario.${play} PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python
    ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endforeach()
