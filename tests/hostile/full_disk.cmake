# Calls while the disk is full or slow. A preloaded library simulates the disk; it cannot be preloaded with ThreadSanitizer.
if(NOT KEYWAY_SANITIZE MATCHES thread)
  add_library(kw_test_disk MODULE full_disk/disk.c)
  target_compile_options(kw_test_disk PRIVATE -fno-sanitize=all)
  target_link_options(kw_test_disk PRIVATE -fno-sanitize=all)
  foreach(topic full_disk deadlines backups)
    add_test(NAME hostile.${topic} COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/full_disk/${topic}.py)
    set_tests_properties(hostile.${topic} PROPERTIES LABELS hostile TIMEOUT 1200 FIXTURES_REQUIRED python
      ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;KW_DISK_LIBRARY=$<TARGET_FILE:kw_test_disk>;PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN}")
  endforeach()
endif()
# A small disk, mounted by the test; skipped if this user cannot mount one.
add_test(NAME hostile.small_disk COMMAND ${KW_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/full_disk/small_disk.py)
set_tests_properties(hostile.small_disk PROPERTIES LABELS hostile TIMEOUT 600 FIXTURES_REQUIRED python SKIP_RETURN_CODE 77
  ENVIRONMENT "KEYWAYD=$<TARGET_FILE:keywayd>;PYTHONDONTWRITEBYTECODE=1;PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support:${KW_TEST_PYTHON_GEN}")
