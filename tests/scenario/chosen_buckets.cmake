# Buckets chosen at each put, on the embedded store and with two gateways on a real HBase.
kw_integration_test_on_both_stores(chosen_buckets chosen_buckets.py)
