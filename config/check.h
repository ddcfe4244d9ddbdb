/* Checks of settings that depend on each other; the engine calls them after it has read a section.
 *
 * section: the struct that was filled. node: the map that it was read from; NULL if the file omits it or has
 * a short form. */
#pragma once

struct kw_read;
struct kw_node;
struct kw_model_field;
struct kw_draft_table;
struct kw_memory;
struct kw_model;

void kw_check_listener(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_role(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_access(struct kw_read *read, const struct kw_node *node, void *section);
/* Refuses listeners that other machines can reach, if there is no access and they are not public. */
void kw_check_open_listeners(struct kw_read *read, const struct kw_model *model);
void kw_check_listener_tls(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_channel_tls(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_cursor(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_store(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_sequences(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_policy(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_generate(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_field(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_family(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_splits(struct kw_read *read, const struct kw_node *node, void *section);
void kw_check_table(struct kw_read *read, const struct kw_node *node, void *section);

/* The store table of sequences beside this catalog: keyway_sequences beside keyway_catalog, numbers_sequences
 * beside numbers. So two installations that have different catalogs also have different counters. */
const char *kw_sequences_table_name(struct kw_memory *memory, const char *catalog);

/* Parts of kw_check_field and kw_check_table: what the names in key rules mean, whether generated values fit
 * the field, whether the timestamp of a sequence's periods exists, and whether every field has its own
 * columns. */
void kw_check_rule_names(struct kw_read *read, struct kw_draft_table *table);
void kw_check_generated(struct kw_read *read, const struct kw_node *map, const struct kw_model_field *field);
void kw_check_period_fields(struct kw_read *read, const struct kw_draft_table *table);
void kw_check_columns(struct kw_read *read, struct kw_draft_table *table);
