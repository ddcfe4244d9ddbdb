# The example policies of config/examples, played on the embedded store and on a real HBase.
set(kw_examples_path "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1")
set(kw_examples_environment "KEYWAYD=$<TARGET_FILE:keywayd>;${kw_examples_path};TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
foreach(store embedded hbase)
  set(test scenario.examples.${store})
  add_test(NAME ${test} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/examples/play.py ${store})
  set_tests_properties(${test} PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python ENVIRONMENT "${kw_examples_environment}")
endforeach()
set_tests_properties(scenario.examples.hbase PROPERTIES LABELS "scenario;hbase" FIXTURES_REQUIRED "python;hbase"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77 ENVIRONMENT "KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;${kw_examples_environment}")

# The commands and the Python on the pages of docs/examples print what the pages show.
add_test(NAME scenario.examples.pages COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/examples/pages.py)
set_tests_properties(scenario.examples.pages PROPERTIES LABELS scenario TIMEOUT 600 FIXTURES_REQUIRED python
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>;${kw_examples_environment}")
