/* Answers that the store handle gives itself, later on the store handle's loop like every other answer:
 * refusals of what a store must not see, and empty answers to empty questions. */
#pragma once

#include "store/store.h"

void kw_refuse_write(kw_store_handle *handle, const kw_error *error, kw_write_done done, void *user);
void kw_refuse_write_if(kw_store_handle *handle, const kw_error *error, kw_write_if_done done, void *user);
void kw_refuse_increment(kw_store_handle *handle, const kw_error *error, kw_increment_done done, void *user);
void kw_refuse_create(kw_store_handle *handle, const kw_error *error, kw_create_done done, void *user);
void kw_refuse_facts(kw_store_handle *handle, const kw_error *error, kw_table_facts_done done, void *user);
void kw_refuse_simple(kw_store_handle *handle, const kw_error *error, kw_simple_done done, void *user);
void kw_refuse_regions(kw_store_handle *handle, const kw_error *error, kw_regions_done done, void *user);

/* rows are given away; with rows error is ignored. */
void kw_refuse_get(kw_store_handle *handle, kw_rows *rows, const kw_error *error, kw_get_done done,
                   void *user);

/* done(user) on the loop. */
void kw_refuse_later(kw_store_handle *handle, void (*done)(void *user), void *user);

/* Was the store handle closed? Then with the error that everything gets that is started after it. */
bool kw_store_handle_is_shut(const kw_store_handle *handle, kw_error *ret_error);
