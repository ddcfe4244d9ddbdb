# Crowds of callers at a running gateway, over each store: what each is told is true (crowd_truth.py).
add_executable(test_crowd_truth ${CMAKE_CURRENT_SOURCE_DIR}/crowd_truth.c)
target_link_libraries(test_crowd_truth PRIVATE kw_crowd kw_history kw_idl kw_wire kw_base kw_flags)
kw_play_on_both(crowd_truth crowd_truth.py ENVIRONMENT "KW_CROWD_TRUTH=$<TARGET_FILE:test_crowd_truth>")
