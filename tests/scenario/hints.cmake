# Queries by paths over fields that change, compared with a model; on both stores.
kw_integration_test(hint_queries.embedded hint_queries.py ARGS embedded 600 LABELS scenario random)
kw_integration_test(hint_queries_many.embedded hint_queries.py SLOW ARGS embedded 3000 LABELS scenario random)
kw_integration_test(hint_queries.hbase hint_queries.py HBASE ARGS hbase 600 LABELS scenario random)
