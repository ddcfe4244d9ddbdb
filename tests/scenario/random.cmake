# Random tables, records and questions against a brute-force model; timestamps and many callers.
foreach(play random_questions versions)
  kw_play(${play} ${play}.py LABELS scenario random)
endforeach()

# Keys with calendars and bits, values that the gateway makes, intervals that are read window by window, on both stores.
kw_play_on_both(random_clocks random_clocks.py LABELS scenario random)
