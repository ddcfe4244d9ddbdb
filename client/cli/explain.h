/* Showing keys and plans. */
#pragma once

#include "keyway.h"

#include <stdio.h>

/* For people. */
void kw_explanation_print(const kw_explanation *explanation, FILE *to);
