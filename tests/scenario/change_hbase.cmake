# A key rule is changed on a simulated HBase, with one gateway and with two, and on a real one.
set(environment ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(change_hbase_1.sim change_hbase.py SLOW BUSY ARGS sim 1 ${environment} LABELS scenario random)
kw_integration_test(change_hbase_2.sim change_hbase.py SLOW BUSY ARGS sim 2 ${environment} LABELS scenario random)
kw_integration_test(change_faults.sim change_faults.py SLOW BUSY ARGS sim 2 ${environment} LABELS scenario random TIMEOUT 1800)
kw_integration_test(change_hbase.hbase change_hbase.py EVERY_COMMIT HBASE ARGS hbase 2 ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" LABELS scenario random)

# Every kind of key rule to every other one: a part of the pairs, or all of them with KW_MATRIX_ALL in the environment.
kw_integration_test(change_matrix.sim change_matrix_hbase.py SLOW BUSY ARGS sim ENVIRONMENT "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>"
  LABELS scenario random TIMEOUT 7200)

# Gateways that stop during a change, and orders through any gateway.
kw_integration_test(change_holder.sim change_holder.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")

# Key rules of several tables change at the same time.
kw_integration_test(change_together.sim change_together.py SLOW ARGS sim 2
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")

# Increments and conditional writes become allowed on a table with rows, and forbidden.
kw_integration_test(change_atomics.sim change_atomics_hbase.py SLOW ARGS sim 2 ${environment} LABELS scenario random)

# A path is added to a table with rows.
kw_integration_test(change_paths_1.sim change_paths_hbase.py SLOW BUSY ARGS sim 1 ${environment} LABELS scenario random)
kw_integration_test(change_paths_2.sim change_paths_hbase.py SLOW BUSY ARGS sim 2 ${environment} LABELS scenario random)
kw_integration_test(change_paths.hbase change_paths_hbase.py HBASE ARGS hbase 2 ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" LABELS scenario random)
