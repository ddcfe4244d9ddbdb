# Order tracking, on the embedded store and on a real HBase in both of its Thrift2 forms.
kw_integration_test(order_tracking order_tracking.py)
kw_integration_test(order_tracking.hbase_buffered order_tracking.py HBASE ARGS buffered)
kw_integration_test(order_tracking.hbase_framed order_tracking.py HBASE EVERY_COMMIT ARGS framed)
