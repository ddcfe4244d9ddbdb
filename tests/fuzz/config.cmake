# The policy reader. Its corpus: the example policies, and the good and bad policies of the unit tests.
kw_fuzz_target(config SOURCES fuzz_config.c USES kw_config MUTATIONS 60000
  CORPUS ${PROJECT_SOURCE_DIR}/config/examples ${PROJECT_SOURCE_DIR}/tests/unit/config/good
         ${PROJECT_SOURCE_DIR}/tests/unit/config/bad)
