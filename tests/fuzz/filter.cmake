# The filter language: the parser, the printer, and evaluation.
kw_fuzz_target(filter SOURCES fuzz_filter.c USES kw_filter MUTATIONS 60000)

# The same corpus with clang, once for all presets.
if(NOT KEYWAY_FUZZ AND NOT KEYWAY_SANITIZE)
  add_test(NAME fuzz.filter_clang COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/clang.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(fuzz.filter_clang PROPERTIES TIMEOUT 900 LABELS fuzz SKIP_RETURN_CODE 77)
endif()
