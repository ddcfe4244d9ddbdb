# keyway scrub: comparing and repairing the paths of a table.
kw_play_on_both(scrub scrub.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
