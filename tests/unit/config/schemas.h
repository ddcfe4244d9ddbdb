/* Key components for the tests of config/: one for each kind of setting. They are not the gateway's; the
 * reader must accept any. */
#pragma once

#include "config/reader.h"

static const char *const sample_algorithms[] = {"md5", "xxh64", NULL};
static const char *const sample_orders[] = {"asc", "desc", NULL};

static const kw_setting_schema sample_field_settings[] = {
    {.name = "name", .kind = KW_SETTING_TEXT, .required = true, .about = "the field"},
    {.name = "order",
     .kind = KW_SETTING_CHOICE,
     .choices = sample_orders,
     .fallback = "asc",
     .about = "the order"},
    {.name = "width", .kind = KW_SETTING_INT, .least = 1, .most = 64, .about = "bytes"},
    {.name = "reverse", .kind = KW_SETTING_BOOL, .fallback = "false", .about = "digits turned around"},
};

static const kw_setting_schema sample_hash_settings[] = {
    {.name = "of", .kind = KW_SETTING_TEXTS, .required = true, .about = "the fields"},
    {.name = "algorithm", .kind = KW_SETTING_CHOICE, .choices = sample_algorithms, .about = "which"},
    {.name = "take", .kind = KW_SETTING_INT, .about = "how much"},
};

static const kw_setting_schema sample_literal_settings[] = {
    {.name = "text", .kind = KW_SETTING_TEXT, .required = true, .about = "the text"},
};

static const kw_component_schema sample_field = {"field", "a field", sample_field_settings,
                                                 G_N_ELEMENTS(sample_field_settings)};
static const kw_component_schema sample_hash = {"hash", "a hash", sample_hash_settings,
                                                G_N_ELEMENTS(sample_hash_settings)};
static const kw_component_schema sample_literal = {"literal", "the same bytes", sample_literal_settings,
                                                   G_N_ELEMENTS(sample_literal_settings)};
static const kw_component_schema sample_now = {"now", "takes no settings", NULL, 0};

static const kw_component_schema *const sample_components[] = {&sample_field, &sample_hash, &sample_literal,
                                                               &sample_now};
#define SAMPLE_COMPONENTS sample_components, G_N_ELEMENTS(sample_components)
