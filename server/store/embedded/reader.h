/* Reads rows off an iterator of the engine, forward and backward, through a view.
 *
 * Skipping: a few entries of no interest are stepped over, more are jumped over with a seek. Backward, a
 * row's entries are met last first while the view wants them first to last; they are laid aside, or, when
 * a row is large, read forward from its start. One thread at a time.
 */
#pragma once

#include "base/effort.h"
#include "store/embedded/version_filter.h"

#include <rocksdb/c.h>

typedef struct kw_reader {
    rocksdb_iterator_t *at; /* borrowed */
    kw_effort *effort;      /* NULL: no bound; once it is over, rows are not whole and must not be used */
    kw_version_filter view;
    kw_buffer prefix; /* of the present row */
    kw_buffer target;
    kw_buffer aside; /* backward: entries laid aside, back to back */
    GArray *places;  /* of them */
} kw_reader;

void kw_reader_init(kw_reader *reader, rocksdb_iterator_t *at, const kw_selection *selection);
void kw_reader_clear(kw_reader *reader);

/* The row that was begun last, as a prefix of keys. */
static inline kw_bytes
kw_reader_row(const kw_reader *reader)
{
    return kw_buffer_bytes(&reader->prefix);
}

/* One row by its key. False when nothing of it is seen; the iterator's place is of no meaning then. */
bool kw_reader_get(kw_reader *reader, kw_bytes row, kw_row *ret_row);

/* The row that the iterator stands in (on its first entry), and on to the next row's first. */
bool kw_reader_forward(kw_reader *reader, kw_row *ret_row);

/* The row that the iterator stands in (on its last entry), and back to the row before, its last. */
bool kw_reader_backward(kw_reader *reader, kw_row *ret_row);
