/* The kinds of components: each has a file in this folder and a row in component.c. */
#pragma once

#include "rule/component.h"

extern const kw_component_kind kw_component_field;
extern const kw_component_kind kw_component_literal;
extern const kw_component_kind kw_component_hash;
extern const kw_component_kind kw_component_salt;
extern const kw_component_kind kw_component_mod;
extern const kw_component_kind kw_component_enum;
extern const kw_component_kind kw_component_ring;
extern const kw_component_kind kw_component_calendar;
extern const kw_component_kind kw_component_bits;
