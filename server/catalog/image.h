/* The content of the catalog's store table at one moment.
 *
 *   row            cells of family d
 *   =facts         id: random, another one after each change; table/NAME: facts of a table as JSON (empty:
 *                  forgotten); made/STORE_TABLE: Keyway created it; policy: the current version (version.h);
 *                  changes: the records of changes (changes.h); zone/KEY: steps of a time zone (zones.h);
 *                  importing: an export is being imported (transfer.h)
 *   =gateway/...   id, protocol, says, lease: a gateway that serves, or is about to; the name is random
 *   ~policy/...    texts of policy versions (version.h); not a part of the image
 *
 * All facts are in one row, so that a policy with several changed tables takes effect at once. Each change of
 * that row is a conditional put: it is applied only if the id is still the one that was read. Its timestamp
 * is greater than all timestamps that were read, so that no clock can hide it.
 *
 * The row of facts sorts before the registrations, so that a reader gets the id before it looks for other
 * gateways. A gateway that registers too late to be seen changes the id when it commits. If it commits
 * before the reader, the reader's put is rejected. If the reader commits first, the put of the late gateway
 * is rejected, unless that gateway has read what the reader wrote.
 */
#pragma once

#include "catalog/changes.h"
#include "catalog/facts.h"
#include "catalog/version.h"
#include "store/plausible.h"
#include "store/store.h"

#define KW_CATALOG_FAMILY KW_BYTES_LITERAL("d")
#define KW_CATALOG_FACTS_ROW KW_BYTES_LITERAL("=facts")
#define KW_CATALOG_ID KW_BYTES_LITERAL("id")
#define KW_CATALOG_IMPORTING KW_BYTES_LITERAL("importing")
#define KW_CATALOG_GATEWAY_PREFIX "=gateway/"
#define KW_CATALOG_GATEWAY_STOP "=gateway0" /* sorts after all of them */
#define KW_CATALOG_TABLE_PREFIX "table/"
#define KW_CATALOG_CREATED_PREFIX "made/"
#define KW_CATALOG_ZONE_PREFIX "zone/"

/* Version of the protocol among gateways. A gateway with another number cannot serve at the same time. */
#define KW_CATALOG_PROTOCOL 1

/* The lease_at_ms of a registration with a timestamp that no clock can have. It counts as alive. */
#define KW_CATALOG_LEASE_UNKNOWN_MS KW_PLAUSIBLE_MAX_MS

typedef struct kw_table_digest {
    const char *table;
    const char *digest; /* kw_facts_digest */
} kw_table_digest;

/* A registered gateway. */
typedef struct kw_registration {
    const char *instance; /* the name of the registration */
    const char
        *id; /* of the gateway; for some time after a crash and restart, several registrations have it */
    int64_t protocol;    /* other than KW_CATALOG_PROTOCOL: the members after lease_at_ms are not set */
    kw_bytes lease;      /* changes with each renewal */
    int64_t lease_at_ms; /* when the store applied the put, by the store's clock */
    const kw_table_digest *serving;
    size_t serving_count;
    const kw_table_digest *next; /* while another policy is being admitted; otherwise the same as `serving` */
    size_t next_count;
    const char *forgetting; /* the table being forgotten; NULL: none */
    bool follows;           /* see kw_catalog_settings */
    bool has_callers;       /* see kw_catalog_report_callers */
    const kw_change_report *reports;
    size_t reports_count;
} kw_registration;

/* The steps of a time zone, as kw_zone_print prints them. */
typedef struct kw_zone_text {
    const char *key; /* kw_zone.key */
    const char *steps;
} kw_zone_text;

typedef struct kw_catalog_image {
    kw_arena *arena;
    const char *id;            /* "" before the first change */
    const char *importing;     /* the ID of the export that is being imported; "": none */
    int64_t newest_ms;         /* the newest timestamp in the row of facts; 0 before the first change */
    int64_t seen_ms;           /* the store's time at most some seconds before the read; set by others.h */
    kw_version_name version;   /* the current policy version; number 0: none */
    kw_change_record *changes; /* the records of changes, in the order in which they were written */
    size_t changes_count;
    kw_facts **tables;
    size_t tables_count;
    const char **created; /* store tables that Keyway created */
    size_t created_count;
    kw_zone_text *zones;
    size_t zones_count;
    kw_registration *gateways;
    size_t gateways_count;
} kw_catalog_image;

/* CORRUPT unless a clock can have the timestamp of the cell. ret_error can be NULL. */
bool kw_catalog_check_timestamp(const kw_cell *cell, kw_error *ret_error);

/* The receiver owns the image; NULL exactly if error is set. A missing table gives an empty image. */
typedef void (*kw_catalog_read_done)(void *user, kw_catalog_image *image, const kw_error *error);
void kw_catalog_read(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_catalog_read_done done,
                     void *user);
/* Reads only the registrations. */
void kw_catalog_read_gateways(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                              kw_catalog_read_done done, void *user);
void kw_catalog_image_free(kw_catalog_image *image); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_catalog_image, kw_catalog_image_free)

/* NULL if there is none. */
const kw_facts *kw_catalog_image_table(const kw_catalog_image *image, const char *name);
/* UNAVAILABLE while an export is being imported: the facts are incomplete. */
bool kw_catalog_image_check_whole(const kw_catalog_image *image, kw_error *ret_error);
/* True if Keyway created the store table. */
bool kw_catalog_image_is_created(const kw_catalog_image *image, const char *store_table);

/* The content of a registration as JSON: {"serving":{TABLE:DIGEST,...},"next":{...},"forgetting":TABLE,
 * "follows":true, "changes":[{"table":TABLE,"path":PATH,"started_ms":N,"step":N},...]}. */
kw_bytes kw_registration_print(const kw_registration *registration, kw_arena *arena);
bool kw_registration_parse(kw_bytes text, kw_arena *arena, kw_registration *to);
