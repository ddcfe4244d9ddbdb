# Orders, failures and shutdowns around a change of a key rule that ordinary changes do not meet.
kw_integration_test(change_edges.embedded change_edges.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
