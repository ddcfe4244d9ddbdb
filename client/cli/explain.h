/* Prints keys and plans. */
#pragma once

#include "keyway.h"

#include <stdio.h>

/* Prints them as text for people. */
void kw_explanation_print(const kw_explanation *explanation, FILE *to);
