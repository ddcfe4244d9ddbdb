# The policy reader. Its corpus is what the unit tests and people have: good and bad policies.
kw_fuzz_target(config SOURCES fuzz_config.c USES kw_config MUTATIONS 60000
  CORPUS ${PROJECT_SOURCE_DIR}/config/examples ${PROJECT_SOURCE_DIR}/tests/unit/config/good
         ${PROJECT_SOURCE_DIR}/tests/unit/config/bad)
