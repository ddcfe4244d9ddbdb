# Misbehaving callers; starting, reloading, draining and stopping a gateway. These tests also run under the sanitizers.
foreach(name hostile_input hostile_connections gateway_start gateway_reload gateway_drain gateway_log gateway_tls gateway_methods unix_sockets access audit)
  kw_integration_test(${name} ${name}.py LABELS hostile)
endforeach()

# The page about access prints what its commands print.
kw_integration_test(security_page security_page.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")

# A real HBase that becomes unreachable and reachable again.
kw_integration_test(gateway_hbase gateway_hbase.py HBASE)

# A separate HBase that is killed and restarted. The lock prevents two HBases at a time on a small machine.
kw_integration_test(hbase_killed hbase_killed.py SLOW LABELS scenario hbase network MAY_SKIP)
set_tests_properties(scenario.hbase_killed PROPERTIES RESOURCE_LOCK hbase)
