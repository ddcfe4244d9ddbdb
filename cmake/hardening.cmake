# Hardening and link-time optimisation. tests/lint/hardening.py reads the built programs and fails when one of these is missing.
# Sanitizers, coverage and fuzzing bring instrumentation of their own, so builds with them are not hardened.
if(KEYWAY_HARDENING AND NOT KEYWAY_SANITIZE AND NOT KEYWAY_COVERAGE AND NOT KEYWAY_FUZZ)
  set(KW_HARDENED ON)
  include(CheckCCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  # Distributions set _FORTIFY_SOURCE, some of them to a higher level, in the flags or in their compiler. -U is for flags that
  # change after this check.
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -O2) # it needs optimisation
  check_c_source_compiles("#ifndef _FORTIFY_SOURCE\n#error\n#endif\nint main(void) { return 0; }" KW_IS_FORTIFIED)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT KW_IS_FORTIFIED)
    add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  endif()
  check_c_compiler_flag(-fcf-protection=full KW_HAS_CF_PROTECTION) # x86 only
  if(KW_HAS_CF_PROTECTION)
    add_compile_options(-fcf-protection=full)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
if(KEYWAY_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES C)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
