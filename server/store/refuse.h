/* Completions that are called without asking the store: rejections of invalid arguments and of operations on
 * a closed store handle, and empty results of empty requests. They run in a later iteration of the store
 * handle's loop. */
#pragma once

#include "store/store.h"

void kw_refuse_write(kw_store_handle *handle, const kw_error *error, kw_write_done done, void *user);
void kw_refuse_write_if(kw_store_handle *handle, const kw_error *error, kw_write_if_done done, void *user);
void kw_refuse_increment(kw_store_handle *handle, const kw_error *error, kw_increment_done done, void *user);
void kw_refuse_create(kw_store_handle *handle, const kw_error *error, kw_create_done done, void *user);
void kw_refuse_facts(kw_store_handle *handle, const kw_error *error, kw_table_facts_done done, void *user);
void kw_refuse_simple(kw_store_handle *handle, const kw_error *error, kw_simple_done done, void *user);
void kw_refuse_regions(kw_store_handle *handle, const kw_error *error, kw_regions_done done, void *user);
void kw_refuse_backup(kw_store_handle *handle, const kw_error *error, kw_backup_done done, void *user);

/* Every copy or sweep gets the error. */
void kw_refuse_copies(kw_store_handle *handle, const kw_error *error, kw_written *results, size_t count,
                      void (*done)(void *user), void *user);

/* Passes `rows` to done, or the error if rows is NULL. */
void kw_complete_get_later(kw_store_handle *handle, kw_rows *rows, const kw_error *error, kw_get_done done,
                           void *user);

/* Counts the writes that failed, for the metric store_errors. */
void kw_count_failed_writes(const kw_written *results, size_t count);

/* Calls done(user) in a later iteration of the loop. */
void kw_complete_later(kw_store_handle *handle, void (*done)(void *user), void *user);

/* True if the store handle was closed; then ret_error is the error of every operation started since. */
bool kw_store_handle_is_closing(const kw_store_handle *handle, kw_error *ret_error);
