# Order tracking, on the embedded store and on a real HBase in both of its Thrift2 forms.
kw_integration_test(order_tracking order_tracking.py)
foreach(form buffered framed)
  kw_integration_test(order_tracking.hbase_${form} order_tracking.py HBASE ARGS ${form})
endforeach()
