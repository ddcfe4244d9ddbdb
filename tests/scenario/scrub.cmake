# keyway scrub: compares and repairs the paths of a table.
kw_integration_test_on_both_stores(scrub scrub.py EVERY_COMMIT ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
