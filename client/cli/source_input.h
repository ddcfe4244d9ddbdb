/* Private to the source: the bytes of a file as UTF-8. A byte order mark at its start says whether they are
 * UTF-8 or UTF-16, and is removed. */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>

#define KW_INPUT_BYTES 4096

typedef struct kw_source_input {
    int fd;              /* -1: not open */
    guint64 position;    /* bytes read from the file */
    bool begun;          /* the byte order mark was looked for */
    bool at_end;         /* of the file */
    GConverter *decoder; /* NULL: the bytes are UTF-8 */
    char raw[KW_INPUT_BYTES];
    gsize raw_size; /* bytes of raw that were not returned yet */
} kw_source_input;

/* Opens path, or standard input for "-", as a stream of UTF-8 whose reads end when the user interrupts the
 * program. NULL with errno set on an error. Invalid UTF-16 ends the stream with the error EILSEQ. */
FILE *kw_source_input_open(kw_source_input *input, const char *path);

/* Call it after the stream was closed. */
void kw_source_input_clear(kw_source_input *input);
