# Generated values, with the counters of sequences in every place that can hold them.
kw_integration_test_on_both_stores(sequences sequences.py)
kw_integration_test(sequences.redis sequences.py ARGS redis MAY_SKIP)

# Several gateways that share one sequence and are killed.
kw_integration_test(sequences_together.redis sequences_together.py SLOW ARGS redis TIMEOUT 900 MAY_SKIP)
kw_integration_test(sequences_together.hbase sequences_together.py HBASE ARGS hbase TIMEOUT 900)
