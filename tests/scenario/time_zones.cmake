# The system's time zone data change while a table has rows.
kw_integration_test(time_zones time_zones.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
