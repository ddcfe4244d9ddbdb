# Tests of the example policies in config/examples, on the embedded store and on a real HBase.
kw_integration_test_on_both_stores(examples examples/run.py EVERY_COMMIT)

# The commands and the Python code on the pages of docs/examples, docs/changing-a-policy.md, docs/modelling.md and README.md print what the pages show.
kw_integration_test(examples.pages examples/pages.py ENVIRONMENT "KEYWAY=$<TARGET_FILE:keyway>")
