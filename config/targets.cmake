# YAML into a validated model. Does not depend on how settings are used: includes nothing from server/.
add_library(kw_config STATIC
  assemble.c built_in.c check.c check_access.c check_columns.c check_generate.c check_rule.c check_sequences.c check_table.c diagnostic.c edit.c file.c model.c name.c nearest.c node.c memory.c read.c
  read_rule.c read_value.c reader.c shared.c
  schema.c schema_json.c schema_mdoc.c schema_text.c settings.c settings_access.c settings_generate.c settings_store.c settings_table.c parse.c zone.c)
target_include_directories(kw_config PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(kw_config PUBLIC PkgConfig::GLIB PRIVATE PkgConfig::YAML kw_flags)

include(GNUInstallDirs)
install(FILES keyway-policy.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/keyway)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/man/keyway-policy.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${PROJECT_SOURCE_DIR}/man/keyway-changes.7 ${PROJECT_SOURCE_DIR}/man/keyway-filters.7
  ${PROJECT_SOURCE_DIR}/man/keyway-ordering.7
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
