# Unique paths: random writes compared with a model; callers that race for the same values, and kills of the gateway.
kw_integration_test(unique_paths.embedded unique_paths.py LABELS scenario random)
# What a policy can change of a table with a unique path.
kw_integration_test(unique_steps.embedded unique_steps.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
