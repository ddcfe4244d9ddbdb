#include "unit/net/certificates.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

char *
certificates_file(const certificates *files, const char *name)
{
    return g_build_filename(files->folder, name, NULL);
}

static void
write_key(const certificates *files, const char *name, EVP_PKEY *key)
{
    g_autofree char *file_name = g_strdup_printf("%s/%s.key", files->folder, name);
    FILE *file = fopen(file_name, "w");
    g_assert(file);
    g_assert(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
}

static void
write_certificate(const certificates *files, const char *name, X509 *certificate)
{
    g_autofree char *file_name = g_strdup_printf("%s/%s.pem", files->folder, name);
    FILE *file = fopen(file_name, "w");
    g_assert(file);
    g_assert(PEM_write_X509(file, certificate) == 1);
    fclose(file);
}

static void
extend(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    g_assert(extension);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

static X509 *
new_certificate(const char *name, EVP_PKEY *key)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"Keyway tests", -1, -1, 0);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
    X509_set_pubkey(certificate, key);
    return certificate;
}

static void
make_authority(const certificates *files, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = new_certificate(name, key);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
    g_assert(X509_sign(certificate, key, EVP_sha256()) > 0);
    write_key(files, name, key);
    write_certificate(files, name, certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

certificates *
certificates_new(void)
{
    certificates *files = g_new0(certificates, 1);
    files->folder = g_dir_make_tmp("keyway-tls-XXXXXX", NULL);
    g_assert(files->folder);
    make_authority(files, "ca");
    make_authority(files, "other-ca");
    return files;
}

void
certificates_leaf(certificates *files, const char *authority, const char *name, const char *alternative)
{
    g_autofree char *ca_name = g_strdup_printf("%s/%s.pem", files->folder, authority);
    g_autofree char *ca_key_name = g_strdup_printf("%s/%s.key", files->folder, authority);
    FILE *ca_file = fopen(ca_name, "r");
    FILE *ca_key_file = fopen(ca_key_name, "r");
    X509 *ca = PEM_read_X509(ca_file, NULL, NULL, NULL);
    EVP_PKEY *ca_key = PEM_read_PrivateKey(ca_key_file, NULL, NULL, NULL);
    g_assert(ca && ca_key);
    fclose(ca_file);
    fclose(ca_key_file);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = new_certificate(name, key);
    X509_set_issuer_name(certificate, X509_get_subject_name(ca));
    if (alternative)
        extend(certificate, ca, NID_subject_alt_name, alternative);
    g_assert(X509_sign(certificate, ca_key, EVP_sha256()) > 0);
    write_key(files, name, key);
    write_certificate(files, name, certificate);
    X509_free(certificate);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}

void
certificates_free(certificates *files)
{
    GDir *folder = g_dir_open(files->folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(folder))) {
        g_autofree char *file = certificates_file(files, name);
        g_unlink(file);
    }
    g_dir_close(folder);
    g_rmdir(files->folder);
    g_free(files->folder);
    g_free(files);
}
