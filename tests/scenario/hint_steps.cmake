# What a policy can change of a table with a path over a field that can change.
kw_integration_test(hint_steps.sim hint_steps.py SLOW ARGS sim
  ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(hint_steps.embedded hint_steps.py ARGS embedded ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
kw_integration_test(hint_steps.hbase hint_steps.py SLOW HBASE ARGS hbase ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
