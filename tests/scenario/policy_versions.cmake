# A policy whose tables the catalog keeps: two gateways on a simulated HBase.
kw_integration_test(policy_versions.sim policy_versions.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(policy_versions.embedded policy_versions_embedded.py)
# All Thrift2 servers are down for longer than a lease.
kw_integration_test(outage outage.py SLOW ENVIRONMENT "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
