/* A principal: who has opened a connection. It does not change while the connection is open. Its names are
 * texts, in the form that the rules of a policy use:
 *
 *   cn=shop-1          the common name of a verified client certificate
 *   san=shop.example   a subject alternative name of it: DNS name, URI or e-mail address
 *   unix:1000          the user id of the process at the other end of a Unix socket; unix:root for user id 0
 *   unix-group:ops     a group of that user
 *   alice              a user who has logged in with SASL
 *
 * A certificate and a Unix peer can have several names: a rule applies if it matches one of them. The first
 * one identifies the principal: cursors are bound to it, and logs and commands name it.
 *
 * Belongs to its connection. Immutable after kw_principal_add; any thread.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum kw_principal_kind {
    KW_PRINCIPAL_ANONYMOUS, /* has no name */
    KW_PRINCIPAL_CERTIFICATE,
    KW_PRINCIPAL_UNIX,
    KW_PRINCIPAL_USER /* a SASL user */
} kw_principal_kind;

#define KW_PRINCIPAL_NAMES_MAX 64
#define KW_PRINCIPAL_NAME_MAX 256 /* bytes */

typedef struct kw_principal {
    kw_principal_kind kind;
    unsigned count; /* of names */
    char *names[KW_PRINCIPAL_NAMES_MAX];
} kw_principal;

/* A connection without a principal of its own. */
extern const kw_principal kw_principal_anonymous;

kw_principal *kw_principal_new(kw_principal_kind kind);
void kw_principal_free(kw_principal *principal); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_principal, kw_principal_free)

/* Adds a copy of a name. False, and nothing is added, if the name cannot be one of this kind: it is empty or
 * longer than KW_PRINCIPAL_NAME_MAX, is not UTF-8, has a control character, or is the name of a user and
 * contains '=' or ':', so that it could be mistaken for a name of another kind. Also false if the principal
 * has KW_PRINCIPAL_NAMES_MAX names. */
bool kw_principal_add(kw_principal *principal, const char *name);

/* The first name; "" if the principal is anonymous. */
const char *kw_principal_name(const kw_principal *principal);
