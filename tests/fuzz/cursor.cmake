# Cursors and the queries in them. The seeds are cursors that the verbs generate at build time.
set(cursor_seeds_folder ${CMAKE_CURRENT_BINARY_DIR}/seeds/cursor)
add_executable(cursor_seeds cursor_seeds.c fuzz_cursor_policy.c)
target_include_directories(cursor_seeds PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(cursor_seeds PRIVATE kw_verb kw_flags)
add_custom_command(OUTPUT ${cursor_seeds_folder}.made
  COMMAND ${CMAKE_COMMAND} -E make_directory ${cursor_seeds_folder}
  COMMAND cursor_seeds ${cursor_seeds_folder}
  COMMAND ${CMAKE_COMMAND} -E touch ${cursor_seeds_folder}.made
  DEPENDS cursor_seeds VERBATIM)
add_custom_target(fuzz_seeds_cursor ALL DEPENDS ${cursor_seeds_folder}.made)

kw_fuzz_target(cursor SOURCES fuzz_cursor.c fuzz_cursor_policy.c USES kw_verb
  CORPUS ${cursor_seeds_folder} MUTATIONS 60000)
add_dependencies(fuzz_cursor fuzz_seeds_cursor)
