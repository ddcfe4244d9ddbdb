# Empty and unsayable values in keys, on the embedded store and on a real HBase; by Thrift and by the command.
kw_play_on_both(empty_values empty_values.py ARGS $<TARGET_FILE:keyway>)
