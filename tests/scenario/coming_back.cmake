# The ways back after key rules were changed: to policy files, and from a lost catalog. They need nothing from HBase that
# contract.simulated does not check.
kw_integration_test(coming_back.sim coming_back.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(coming_back.embedded coming_back.py ARGS embedded ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# A lost catalog comes back from an export.
kw_integration_test(catalog_backup.sim catalog_backup.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(catalog_backup.embedded catalog_backup.py ARGS embedded ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# The rows come back from snapshots of a real HBase.
kw_integration_test(point_in_time.hbase point_in_time.py HBASE ARGS hbase FIXTURES writers
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
