# The Python of the scenario and client tests, KW_TEST_PYTHON, with the Thrift runtime. KW_TEST_PYTHON_GEN contains
# the code generated from keyway.thrift and hbase2.thrift. Tests that use it call
#   set_tests_properties(NAME PROPERTIES FIXTURES_REQUIRED python)
set(KW_TEST_PYTHON ${PROJECT_BINARY_DIR}/python/bin/python)
set(KW_TEST_PYTHON_GEN ${PROJECT_BINARY_DIR}/python/gen)
if(NOT TEST support.python)
  add_test(NAME support.python COMMAND ${PROJECT_SOURCE_DIR}/tests/support/python/make_env.sh
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/python ${THRIFT_COMPILER})
  set_tests_properties(support.python PROPERTIES FIXTURES_SETUP python TIMEOUT 1500 LABELS support)
  execute_process(COMMAND /usr/bin/python3 -c "import thrift.Thrift" RESULT_VARIABLE without_thrift ERROR_QUIET)
  set(KW_PYTHON_DOWNLOADS OFF)
  if(without_thrift)
    set(KW_PYTHON_DOWNLOADS ON)
    set_property(TEST support.python APPEND PROPERTY LABELS network)
  endif()
endif()
