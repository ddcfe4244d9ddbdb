# Conditions on fields of the key after a field without a condition, with and without key patterns, on both stores.
kw_integration_test_on_both_stores(key_patterns key_patterns.py LABELS scenario random)
