# Order tracking, on the embedded store and on a real HBase in both of its Thrift2 forms.
set(kw_scenario_path "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")
add_test(NAME scenario.order_tracking
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/order_tracking.py)
set_tests_properties(scenario.order_tracking PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python
  ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;${kw_scenario_path}")

foreach(form buffered framed)
  set(test scenario.order_tracking.hbase_${form})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/order_tracking.py ${form})
  set_tests_properties(${test} PROPERTIES LABELS "scenario;hbase" TIMEOUT 600 FIXTURES_REQUIRED "python;hbase"
    SKIP_RETURN_CODE 77
    ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_scenario_path}")
endforeach()
