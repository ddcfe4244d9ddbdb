/* Answers that the door gives itself, later on the door's loop like every other answer: refusals of
 * what a store must not see, and empty answers to empty questions. */
#pragma once

#include "store/store.h"

void kw_refuse_write(kw_door *door, const kw_error *error, kw_write_done done, void *user);
void kw_refuse_write_if(kw_door *door, const kw_error *error, kw_write_if_done done, void *user);
void kw_refuse_increment(kw_door *door, const kw_error *error, kw_increment_done done, void *user);
void kw_refuse_create(kw_door *door, const kw_error *error, kw_create_done done, void *user);
void kw_refuse_facts(kw_door *door, const kw_error *error, kw_table_facts_done done, void *user);
void kw_refuse_simple(kw_door *door, const kw_error *error, kw_simple_done done, void *user);
void kw_refuse_regions(kw_door *door, const kw_error *error, kw_regions_done done, void *user);

/* rows are given away; with rows error is ignored. */
void kw_refuse_get(kw_door *door, kw_rows *rows, const kw_error *error, kw_get_done done, void *user);

/* done(user) on the loop. */
void kw_refuse_later(kw_door *door, void (*done)(void *user), void *user);

/* Was the door closed? Then with the error that everything gets that is started after it. */
bool kw_door_is_shut(const kw_door *door, kw_error *ret_error);
