# What a policy may change while its table holds rows.
kw_play_on_both(catalog_steps catalog_steps.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
kw_play(catalog_adopt catalog_adopt.py)
