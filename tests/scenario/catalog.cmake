# Which changes a policy can make while its tables contain rows.
kw_integration_test_on_both_stores(catalog_steps catalog_steps.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# What earlier releases wrote.
kw_integration_test(formats formats.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# A table that cannot be served does not keep the others from service.
kw_integration_test_on_both_stores(degraded degraded.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# The check of existing rows that the catalog does not know.
kw_integration_test_on_both_stores(row_checks row_checks.py)
# Store tables that differ from the policy.
kw_integration_test_on_both_stores(store_tables store_tables.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# Rows that cannot be decoded: skipped and counted.
kw_integration_test_on_both_stores(skip_undecodable skip_undecodable.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# A backup of the embedded store, made while it serves, and its restoration.
kw_integration_test(backup backup.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
# Every row of a table is read and judged.
kw_integration_test_on_both_stores(verify verify.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# Records that are larger than limits.frame.
kw_integration_test_on_both_stores(large_records large_records.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# Rows under -0.0.
kw_integration_test(negative_zero negative_zero.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
