# The codec's targets. Their seeds are messages that wire_seeds encodes at build time.
set(seeds ${CMAKE_CURRENT_BINARY_DIR}/seeds)
add_executable(wire_seeds wire_seeds.c fuzz_wire.c)
target_include_directories(wire_seeds PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(wire_seeds PRIVATE kw_test_odd kw_idl kw_wire kw_flags)
add_custom_command(OUTPUT ${seeds}/made
  COMMAND ${CMAKE_COMMAND} -E make_directory ${seeds}/wire_decode ${seeds}/wire_reader ${seeds}/wire_message
  COMMAND wire_seeds ${seeds}
  COMMAND ${CMAKE_COMMAND} -E touch ${seeds}/made
  DEPENDS wire_seeds VERBATIM)
add_custom_target(fuzz_seeds_wire ALL DEPENDS ${seeds}/made)

foreach(what decode reader message)
  kw_fuzz_target(wire_${what} SOURCES fuzz_wire_${what}.c fuzz_wire.c
    USES kw_test_odd kw_idl kw_wire CORPUS ${seeds}/wire_${what} MUTATIONS 100000)
  add_dependencies(fuzz_wire_${what} fuzz_seeds_wire)
endforeach()
