# Fields that the gateway makes, with counters in each of the places where they can be.
set(kw_sequences_environment
  "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(place embedded redis hbase)
  set(test scenario.sequences.${place})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/sequences.py ${place})
  set_tests_properties(${test} PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python SKIP_RETURN_CODE 77
    ENVIRONMENT "${kw_sequences_environment}")
endforeach()
set_tests_properties(scenario.sequences.hbase PROPERTIES LABELS "scenario;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_sequences_environment}")

# Several gateways that count in one place, and are killed.
foreach(place redis hbase)
  set(test scenario.sequences_together.${place})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/sequences_together.py ${place})
  set_tests_properties(${test} PROPERTIES LABELS scenario TIMEOUT 240 FIXTURES_REQUIRED python SKIP_RETURN_CODE 77
    ENVIRONMENT "${kw_sequences_environment}")
endforeach()
set_tests_properties(scenario.sequences_together.hbase PROPERTIES LABELS "scenario;hbase"
  FIXTURES_REQUIRED "python;hbase" RESOURCE_LOCK hbase
  ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_sequences_environment}")
