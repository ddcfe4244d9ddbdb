# kw_fault_store: a wrapper of a store that fails on purpose.
add_library(kw_fault_store STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/fault_store.c)
target_include_directories(kw_fault_store PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(kw_fault_store PUBLIC kw_store PRIVATE kw_flags)
