/* The catalog's store table as it was at one moment.
 *
 *   row            cells of family d
 *   =tables        id: names the last change; table/NAME: facts of a table as JSON (empty: forgotten)
 *   =gateway/ID    instance, protocol, digests, lease: a gateway that serves, or is about to
 *   T/P/N, store/S fingerprint, description: what versions without facts wrote (adopt.h)
 *
 * All facts are in one row, so that a policy with several changed tables takes effect at once. Each change of
 * that row is a conditional put on the id that was read, with a timestamp above all that were read: no clock
 * can hide it.
 */
#pragma once

#include "catalog/facts.h"
#include "store/store.h"

#define KW_CATALOG_FAMILY KW_BYTES_LITERAL("d")
#define KW_CATALOG_TABLES_ROW KW_BYTES_LITERAL("=tables")
#define KW_CATALOG_ID KW_BYTES_LITERAL("id")
#define KW_CATALOG_GATEWAY_PREFIX "=gateway/"
#define KW_CATALOG_TABLE_PREFIX "table/"

/* What gateways of this version agree on. A gateway with another number is not served beside. */
#define KW_CATALOG_PROTOCOL 1

typedef struct kw_table_digest {
    const char *table;
    const char *digest; /* kw_facts_digest */
} kw_table_digest;

/* A gateway that registered. */
typedef struct kw_registration {
    const char *id;
    const char *instance; /* of its process */
    int64_t protocol;
    kw_bytes lease;      /* another text after each renewal */
    int64_t lease_at_ms; /* when the store stored it, by the store's clock */
    const kw_table_digest *serving;
    size_t serving_count;
    const kw_table_digest *next; /* while it takes on another policy; else the same as `serving` */
    size_t next_count;
} kw_registration;

/* A row that a version without facts wrote. */
typedef struct kw_legacy_row {
    const char *row;
    const char *fingerprint;
    const char *description;
} kw_legacy_row;

typedef struct kw_catalog_image {
    kw_arena *arena;
    const char *id;    /* "" before the first change */
    int64_t newest_ms; /* the newest timestamp in the row of facts; 0 before the first change */
    kw_facts **tables;
    size_t tables_count;
    kw_registration *gateways;
    size_t gateways_count;
    kw_legacy_row *legacy;
    size_t legacy_count;
} kw_catalog_image;

/* The image is the receiver's; NULL exactly when error is set. A missing table is an empty image. */
typedef void (*kw_catalog_read_done)(void *user, kw_catalog_image *image, const kw_error *error);
void kw_catalog_read(kw_door *door, kw_bytes table, kw_deadline deadline, kw_catalog_read_done done,
                     void *user);
void kw_catalog_image_free(kw_catalog_image *image); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_catalog_image, kw_catalog_image_free)

/* NULL when there is none. */
const kw_facts *kw_catalog_image_table(const kw_catalog_image *image, const char *name);
const kw_registration *kw_catalog_image_gateway(const kw_catalog_image *image, const char *id);

/* Digests as the JSON of a registration: {"serving":{TABLE:DIGEST,...},"next":{...}}. */
kw_bytes kw_registration_print(const kw_registration *registration, kw_arena *arena);
bool kw_registration_parse(kw_bytes text, kw_arena *arena, kw_registration *to);
