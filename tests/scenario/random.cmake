# Random tables, records and queries compared with a brute-force model; timestamps; concurrent callers.
foreach(name random_queries versions)
  kw_integration_test(${name} ${name}.py LABELS scenario random)
endforeach()

# Keys with calendars and bits, generated values, and scans that are read in windows, on both stores.
kw_integration_test_on_both_stores(random_clocks random_clocks.py LABELS scenario random)
