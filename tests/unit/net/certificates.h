/* Generates certificates for tests in a temporary folder: an authority, a second one that is not trusted, and
 * leaf certificates signed by either. EC keys, valid for one day. */
#pragma once

#include <stdbool.h>

typedef struct certificates {
    char *folder;
} certificates;

/* Creates the folder with the authorities "ca" and "other-ca" (files NAME.pem and NAME.key). */
certificates *certificates_new(void);
void certificates_free(certificates *files);

/* Signs a leaf NAME.pem/NAME.key: CN = name, subject alternative names as OpenSSL writes them
 * ("DNS:a.test,IP:127.0.0.1"). Replaces existing files. */
void certificates_leaf(certificates *files, const char *authority, const char *name, const char *alternative);

/* The path of a file in the folder; free with g_free. */
char *certificates_file(const certificates *files, const char *name);
