/* Settings that a reload cannot change. */
#pragma once

#include "config/model.h"

/* Logs which settings differ and need a restart. */
void kw_restart_settings_report(const kw_model *old, const kw_model *fresh);
