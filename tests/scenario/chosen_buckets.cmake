# Buckets that are chosen at each put, on the embedded store and with two gateways on a real HBase.
kw_play_on_both(chosen_buckets chosen_buckets.py)
