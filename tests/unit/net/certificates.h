/* Certificates for tests, made on the spot in a temporary folder: an authority, a second one that
 * nobody trusts, and leaves signed by either. EC keys, valid for one day. */
#pragma once

#include <stdbool.h>

typedef struct certificates {
    char *folder;
} certificates;

/* Makes the folder with authorities "ca" and "other-ca" (files NAME.pem and NAME.key). */
certificates *certificates_new(void);
void certificates_free(certificates *made);

/* Signs a leaf NAME.pem/NAME.key: CN = name, subject alternative names as OpenSSL writes them
 * ("DNS:a.test,IP:127.0.0.1"). Made again, it replaces the files. */
void certificates_leaf(certificates *made, const char *authority, const char *name, const char *alternative);

/* The path of a file in the folder; free with g_free. */
char *certificates_file(const certificates *made, const char *name);
