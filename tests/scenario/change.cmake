# A key rule is changed while callers read and write; orders and refusals; unusual rows; every kind of key rule to every
# other one.
set(change_environment ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_STORE_ROWS=$<TARGET_FILE:store_rows>")
kw_integration_test(change.embedded change.py SLOW ${change_environment} LABELS scenario random)
kw_integration_test(change_orders.embedded change_orders.py ${change_environment})
kw_integration_test(change_rows.embedded change_rows.py ${change_environment})
kw_integration_test(change_paths.embedded change_paths.py SLOW ${change_environment} LABELS scenario random)
kw_integration_test(change_matrix.embedded change_matrix.py SLOW ${change_environment} LABELS scenario random)
