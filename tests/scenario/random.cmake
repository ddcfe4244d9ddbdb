# Random tables, records and queries compared with a brute-force model; timestamps; concurrent callers.
kw_integration_test(random_queries random_queries.py SLOW LABELS scenario random)
kw_integration_test(versions versions.py LABELS scenario random)

# Keys with calendars and bits, generated values, and scans that are read in windows, on both stores.
kw_integration_test_on_both_stores(random_clocks random_clocks.py LABELS scenario random)
