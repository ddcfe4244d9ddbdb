# Arithmetic on sizes where size_t has 32 bits.
add_test(NAME hostile.wrap32 COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/wrap32/run.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(hostile.wrap32 PROPERTIES LABELS hostile TIMEOUT 600 SKIP_RETURN_CODE 77)
