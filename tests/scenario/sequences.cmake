# Fields that the gateway makes, with counters in each of the places where they can be.
kw_play_on_both(sequences sequences.py)
kw_play(sequences.redis sequences.py ARGS redis MAY_SKIP)

# Several gateways that count in one place, and are killed.
kw_play(sequences_together.redis sequences_together.py ARGS redis TIMEOUT 900 MAY_SKIP)
kw_play(sequences_together.hbase sequences_together.py HBASE ARGS hbase TIMEOUT 900)
