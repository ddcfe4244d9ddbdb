# Empty values and values that a key cannot encode, on both stores; through Thrift and through the command.
kw_integration_test_on_both_stores(empty_values empty_values.py ARGS $<TARGET_FILE:keyway>)
