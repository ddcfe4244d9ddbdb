# A key rule is changed while callers read and write; and every kind of key rule to every other one.
set(change_environment ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>" "KW_STORE_ROWS=$<TARGET_FILE:store_rows>")
kw_integration_test(change.embedded change.py ${change_environment} LABELS scenario random)
kw_integration_test(change_matrix.embedded change_matrix.py ${change_environment} LABELS scenario random)
