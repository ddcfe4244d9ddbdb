# What a policy can change of a table with a path over a field that can change.
kw_integration_test(hint_steps.sim hint_steps.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(hint_steps.embedded hint_steps.py ARGS embedded ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
# Such a path is added and dropped while callers read and write.
kw_integration_test(change_hints.sim change_hints_hbase.py SLOW BUSY ARGS sim 2
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>" LABELS scenario random)
kw_integration_test(change_hints.hbase change_hints_hbase.py SLOW HBASE ARGS hbase 2 ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" LABELS scenario random)
kw_integration_test(hint_steps.hbase hint_steps.py SLOW HBASE ARGS hbase ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
