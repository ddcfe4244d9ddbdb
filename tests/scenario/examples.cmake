# The example policies of config/examples, played on the embedded store and on a real HBase.
kw_play_on_both(examples examples/play.py)

# The commands and the Python on the pages of docs/examples print what the pages show.
kw_play(examples.pages examples/pages.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
