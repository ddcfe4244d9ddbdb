# Tables that HBase's client, HBaseWD and Phoenix wrote into a real HBase, served and written to.
add_test(NAME support.writers COMMAND ${PROJECT_SOURCE_DIR}/tests/support/writers/run.sh fetch)
set_tests_properties(support.writers PROPERTIES LABELS "support;hbase" FIXTURES_SETUP writers SKIP_RETURN_CODE 77 TIMEOUT 900)
add_test(NAME scenario.existing_tables COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/existing/existing_tables.py)
set_tests_properties(scenario.existing_tables PROPERTIES LABELS "scenario;hbase" TIMEOUT 600 FIXTURES_REQUIRED "python;hbase;writers"
  RESOURCE_LOCK hbase SKIP_RETURN_CODE 77
  ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;KW_HBASE_ENV=${CMAKE_BINARY_DIR}/hbase/env;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN};PYTHONDONTWRITEBYTECODE=1;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
