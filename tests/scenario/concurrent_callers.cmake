# Many concurrent callers of one gateway, over each store: every reply is correct (concurrent_callers.py).
add_executable(test_concurrent_callers ${CMAKE_CURRENT_SOURCE_DIR}/concurrent_callers.c)
target_link_libraries(test_concurrent_callers PRIVATE kw_caller_group kw_history kw_idl kw_wire kw_base kw_flags)
kw_integration_test_on_both_stores(concurrent_callers concurrent_callers.py ENVIRONMENT "KW_CONCURRENT_CALLERS=$<TARGET_FILE:test_concurrent_callers>")
