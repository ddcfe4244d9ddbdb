# Serves tables that HBase's client, HBaseWD and Phoenix wrote into a real HBase, and writes to them.
add_test(NAME support.writers COMMAND ${PROJECT_SOURCE_DIR}/tests/support/writers/run.sh fetch)
set_tests_properties(support.writers PROPERTIES LABELS "support;hbase;slow;network" FIXTURES_SETUP writers SKIP_RETURN_CODE 77 TIMEOUT 1500)
kw_integration_test(existing_tables existing/existing_tables.py HBASE FIXTURES writers)
