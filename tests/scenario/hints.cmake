# Queries by paths over fields that change, compared with a model; on both stores.
kw_integration_test(hint_queries.embedded hint_queries.py ARGS embedded 600 LABELS scenario random)
kw_integration_test(hint_queries_many.embedded hint_queries.py SLOW ARGS embedded 3000 LABELS scenario random)
kw_integration_test(hint_queries.hbase hint_queries.py HBASE ARGS hbase 600 LABELS scenario random)
# Deletes of stale hints on a simulated HBase, by a scrub and by the sweep, which begins after a minute.
set(environment ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_HBASE_SIM=$<TARGET_FILE:hbase_sim>")
kw_integration_test(hint_scrub.sim hint_sweep.py ARGS HintSweep.test_scrub ${environment})
kw_integration_test(hint_sweep.sim hint_sweep.py SLOW ARGS HintSweep.test_sweep ${environment})
# Each kind of key rule of such a path is added on a simulated HBase.
kw_integration_test(hint_matrix.sim hint_matrix.py SLOW BUSY ARGS sim ${environment} LABELS scenario random)
