# Conditions on fields of the key behind a gap, with and without patterns of keys, on both stores.
kw_play_on_both(key_patterns key_patterns.py LABELS scenario random)
