/* Inside of the room: settings that a reload cannot change. */
#pragma once

#include "config/model.h"

/* Logs which settings differ and wait for a restart. */
void kw_changes_report(const kw_model *old, const kw_model *fresh);
