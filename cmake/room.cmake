# kw_room(NAME SOURCES ... USES ...): one folder of the server as a static library. USES are the
# targets it links, which must follow the table of arrows in server/README.md.
add_library(kw_flags INTERFACE)
target_compile_options(kw_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes
  -Wvla -Wundef -Wpointer-arith -fno-omit-frame-pointer)
if(KEYWAY_WERROR)
  target_compile_options(kw_flags INTERFACE -Werror)
endif()
if(KEYWAY_SANITIZE)
  # Instrumented code confuses gcc's flow analysis; the plain builds keep these warnings.
  target_compile_options(kw_flags INTERFACE -Wno-format-truncation -Wno-maybe-uninitialized)
  # For everything, generated code too, so that every object agrees.
  add_compile_options(-fsanitize=${KEYWAY_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KEYWAY_SANITIZE})
endif()
if(KEYWAY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(KEYWAY_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
target_compile_definitions(kw_flags INTERFACE _GNU_SOURCE G_LOG_DOMAIN="keyway"
  KW_VERSION="${PROJECT_VERSION}")

function(kw_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(kw_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(kw_${name} PUBLIC ${PROJECT_SOURCE_DIR}/server ${PROJECT_SOURCE_DIR})
  target_link_libraries(kw_${name} PUBLIC ${ROOM_USES} PRIVATE kw_flags)
endfunction()

# kw_unit_test(NAME SOURCES ... USES ...): a GLib test program, one ctest case per program.
function(kw_unit_test name)
  cmake_parse_arguments(UNIT "" "" "SOURCES;USES" ${ARGN})
  add_executable(test_${name} ${UNIT_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/server ${PROJECT_SOURCE_DIR})
  target_compile_definitions(test_${name} PRIVATE KW_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(test_${name} PRIVATE ${UNIT_USES} kw_flags)
  add_test(NAME unit.${name} COMMAND test_${name} --tap)
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 1200 LABELS unit)
endfunction()
