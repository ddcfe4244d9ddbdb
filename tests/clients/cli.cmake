# libkeyway and the program keyway against a fake gateway (clients.library, clients.cli, clients.change); the program (clients.gateway,
# clients.advise) and the examples in five languages (clients.python, ...) against a real one.
add_executable(test_library test_library.c ${PROJECT_SOURCE_DIR}/tests/support/black_hole.c)
target_include_directories(test_library PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(test_library PRIVATE keyway_static kw_flags)
target_link_options(test_library PRIVATE -Wl,--wrap=getaddrinfo)

add_test(NAME clients.library
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_library.py $<TARGET_FILE:test_library>)
add_test(NAME clients.cli
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_cli.py $<TARGET_FILE:keyway>)
add_test(NAME clients.change
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_change.py $<TARGET_FILE:keyway>)
add_test(NAME clients.command_line
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_command_line.py $<TARGET_FILE:keyway>)
add_test(NAME clients.completion
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_completion.py $<TARGET_FILE:keyway>
          ${PROJECT_SOURCE_DIR}/client/cli/keyway.bash)
add_test(NAME clients.import
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_import.py $<TARGET_FILE:keyway>)
add_test(NAME clients.spellings
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_spellings.py $<TARGET_FILE:keyway>)
add_test(NAME clients.other_programs
  COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_other_programs.py $<TARGET_FILE:keyway> ${PROJECT_SOURCE_DIR}/tests/data/imports)
set(kw_client_tests clients.import clients.spellings clients.other_programs clients.library clients.cli clients.change clients.command_line clients.completion)

# The C example is built as a user would build it: with pkg-config, against an installed libkeyway.
set(kw_example_how_c ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR})
if(TARGET keywayd)
  add_test(NAME clients.gateway
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_gateway.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.advise
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_advise.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.policy_diff
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_policy_diff.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.man
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_man.py $<TARGET_FILE:keyway> ${PROJECT_SOURCE_DIR}/man)
  add_test(NAME clients.count
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_count.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.versions
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_versions.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.decode
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_decode.py $<TARGET_FILE:keyway>)
  add_test(NAME clients.installed
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_installed.py ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR})
  list(APPEND kw_client_tests clients.gateway clients.advise clients.policy_diff clients.man clients.count clients.versions clients.decode clients.installed)
  add_test(NAME clients.python_errors
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/test_python.py ${PROJECT_SOURCE_DIR}/client/examples/python)
  list(APPEND kw_client_tests clients.python_errors)
endif()

foreach(language python java go node c)
  if(NOT TARGET keywayd OR (language STREQUAL c AND KEYWAY_SANITIZE))
    continue()
  endif()
  add_test(NAME clients.${language}
    COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/run_example.py ${language} ${PROJECT_SOURCE_DIR}
            ${PROJECT_BINARY_DIR}/examples ${THRIFT_COMPILER} ${kw_example_how_${language}})
  set_tests_properties(clients.${language} PROPERTIES SKIP_RETURN_CODE 77)
  list(APPEND kw_client_tests clients.${language})
endforeach()
# Most of the timeout is for packages downloaded by the first run, with retries (tests/support/fetch.sh).
set_tests_properties(${kw_client_tests} PROPERTIES LABELS clients FIXTURES_REQUIRED python TIMEOUT 1500
  ENVIRONMENT "PYTHONPATH=${KW_TEST_PYTHON_GEN};KEYWAYD=$<$<TARGET_EXISTS:keywayd>:$<TARGET_FILE:keywayd>>")
if(TARGET keywayd)
  set_property(TEST clients.java clients.go clients.node APPEND PROPERTY LABELS network)
endif()
