# Callers that misbehave, and a gateway that starts, reloads, drains and ends as it should. They run under the
# sanitizers, too.
foreach(play hostile_input hostile_crowd gateway_start gateway_reload gateway_drain gateway_tls gateway_methods)
  kw_play(${play} ${play}.py LABELS hostile)
endforeach()

# With a real HBase that comes, goes and comes back.
kw_play(gateway_hbase gateway_hbase.py HBASE)

# With one of its own that is killed and started again; two at once would be too much for a small machine.
kw_play(hbase_killed hbase_killed.py LABELS scenario hbase MAY_SKIP)
set_tests_properties(scenario.hbase_killed PROPERTIES RESOURCE_LOCK hbase)
