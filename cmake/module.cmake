# How targets are built: warnings and sanitizers (kw_flags), modules of the server, unit tests.
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

# kw_module(NAME SOURCES ... USES ...): one folder of the server as the static library kw_NAME. USES are the targets that it
# links. Every module can include every header of server/ as "MODULE/....h"; tests/lint/arrows.py compares the includes with
# the table in server/README.md.
function(kw_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;USES" ${ARGN})
  add_library(kw_${name} STATIC ${MODULE_SOURCES})
  target_include_directories(kw_${name} PUBLIC ${PROJECT_SOURCE_DIR}/server)
  target_link_libraries(kw_${name} PUBLIC ${MODULE_USES} PRIVATE kw_flags)
  target_compile_options(kw_${name} PRIVATE -fexceptions) # server/base/guard.h unwinds the stack
endfunction()

# kw_unit_tests(MODULE TESTS ... USES ... [SOURCES ...] [DEFINITIONS ...]): the unit tests of a module, linked into one program
# unit_MODULE, because linking is slow: `unit_MODULE TEST [GLib's options]` runs those of one file (tests/support/unit.h).
# Each TEST is a file test_TEST.c or TEST_test.c, or TEST=FILE, and the ctest case unit.MODULE_TEST. Its labels are `unit`
# and KW_MODULE_LABELS.
function(kw_unit_tests module)
  cmake_parse_arguments(UNIT "" "" "TESTS;SOURCES;USES;DEFINITIONS" ${ARGN})
  set(program unit_${module})
  set(tests "")
  foreach(test ${UNIT_TESTS})
    set(file ${test}_test.c)
    if(test MATCHES "(.+)=(.+)")
      set(test ${CMAKE_MATCH_1})
      set(file ${CMAKE_MATCH_2})
    elseif(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/test_${test}.c)
      set(file test_${test}.c)
    endif()
    list(APPEND tests ${test}=${file})
    add_test(NAME unit.${module}_${test} COMMAND ${program} ${test} --tap)
    set_tests_properties(unit.${module}_${test} PROPERTIES TIMEOUT 1200 LABELS "unit;${KW_MODULE_LABELS}")
  endforeach()
  kw_test_program(${program} TESTS ${tests} SOURCES ${UNIT_SOURCES} USES ${UNIT_USES})
  target_compile_definitions(${program} PRIVATE ${UNIT_DEFINITIONS})
endfunction()

# kw_unit_test(NAME SOURCES TEST ... USES ... [LABELS ...] [WRAP function ...]): the unit tests of the file TEST as a program of
# their own: tests that replace functions (WRAP, see --wrap of ld). Its labels are those of kw_unit_tests, or LABELS.
function(kw_unit_test name)
  cmake_parse_arguments(UNIT "" "" "SOURCES;USES;LABELS;WRAP" ${ARGN})
  list(POP_FRONT UNIT_SOURCES file)
  kw_test_program(test_${name} TESTS ${name}=${file} SOURCES ${UNIT_SOURCES} USES ${UNIT_USES})
  list(TRANSFORM UNIT_WRAP PREPEND -Wl,--wrap=)
  target_link_options(test_${name} PRIVATE ${UNIT_WRAP})
  add_test(NAME unit.${name} COMMAND test_${name} --tap)
  if(NOT UNIT_LABELS)
    set(UNIT_LABELS unit ${KW_MODULE_LABELS})
  endif()
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 1200 LABELS "${UNIT_LABELS}")
endfunction()

# kw_test_program(PROGRAM TESTS NAME=FILE ... [SOURCES ...] USES ...): a program with the unit tests of these files.
function(kw_test_program program)
  cmake_parse_arguments(PROGRAM "" "" "TESTS;SOURCES;USES" ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${program}.files)
  set(names "")
  set(sources ${PROGRAM_SOURCES})
  foreach(test ${PROGRAM_TESTS})
    string(REGEX MATCH "(.+)=(.+)" matched ${test})
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES
      COMPILE_DEFINITIONS "main=kw_test_${CMAKE_MATCH_1};KW_UNIT_FILE=\"${CMAKE_MATCH_1}\""
      COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/tests/support/unit.h")
    list(APPEND sources ${CMAKE_MATCH_2})
    string(APPEND names "KW_UNIT_FILE_HERE(${CMAKE_MATCH_1})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/unit_tests.def CONTENT "${names}")
  add_executable(${program} ${PROJECT_SOURCE_DIR}/tests/support/unit_main.c ${sources})
  target_include_directories(${program} PRIVATE ${folder}
    ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/unit ${PROJECT_SOURCE_DIR}/server ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${program} PRIVATE KW_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(${program} PRIVATE ${PROGRAM_USES} kw_flags)
  target_compile_options(${program} PRIVATE -fexceptions)
endfunction()

# kw_slow([ASAN|TSAN|PLAIN] TEST...): tests of this folder that only `scripts/test --slow` runs, in all builds or in builds of
# one kind. A build with a sanitizer does not have all tests.
function(kw_slow)
  set(kind PLAIN)
  if(KEYWAY_SANITIZE MATCHES thread)
    set(kind TSAN)
  elseif(KEYWAY_SANITIZE)
    set(kind ASAN)
  endif()
  set(tests ${ARGN})
  list(GET tests 0 first)
  if(first MATCHES "^(ASAN|TSAN|PLAIN)$")
    list(POP_FRONT tests)
    if(NOT first STREQUAL kind)
      return()
    endif()
  endif()
  foreach(test ${tests})
    if(TEST ${test} OR NOT KEYWAY_SANITIZE)
      set_property(TEST ${test} APPEND PROPERTY LABELS slow)
    endif()
  endforeach()
endfunction()

# kw_label_network(): those tests of this folder that need a fixture which downloads something have the label `network`.
function(kw_label_network)
  set(fixtures hbase writers)
  if(KW_PYTHON_DOWNLOADS)
    list(APPEND fixtures python)
  endif()
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    get_property(needs TEST ${test} PROPERTY FIXTURES_REQUIRED)
    foreach(fixture ${fixtures})
      if(fixture IN_LIST needs)
        set_property(TEST ${test} APPEND PROPERTY LABELS network)
        break()
      endif()
    endforeach()
  endforeach()
endfunction()
