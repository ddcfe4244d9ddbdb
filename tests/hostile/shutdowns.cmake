# The same with an HBase in memory. More rounds, with other seeds: tests/soak.sh.
get_test_property(hostile.shutdowns ENVIRONMENT environment)
add_test(NAME hostile.shutdowns_sim COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/shutdowns.py sim)
set_tests_properties(hostile.shutdowns hostile.shutdowns_sim PROPERTIES LABELS "hostile;random" TIMEOUT 1200 FIXTURES_REQUIRED python
  ENVIRONMENT "${environment};KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
