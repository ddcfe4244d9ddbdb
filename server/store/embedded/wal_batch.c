#include "store/embedded/wal_batch.h"

#include "store/embedded/blocks.h"
#include "store/embedded/key.h"
#include "store/embedded/stamps.h"

#define HEAD_BYTES ((size_t)12)

enum { TAG_DELETE = 0, TAG_PUT = 1, TAG_LOG_DATA = 3 };

static uint64_t
load_le(const uint8_t *from, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | from[i - 1];
    return number;
}

static bool
read_length(kw_bytes *rest, size_t *ret_length)
{
    uint64_t length = 0;
    for (unsigned shift = 0; shift < 35 && rest->size; shift += 7) {
        uint8_t byte = rest->data[0];
        *rest = kw_bytes_skip(*rest, 1);
        length |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_length = (size_t)length;
            return length <= rest->size;
        }
    }
    return false;
}

static bool
read_text(kw_bytes *rest, kw_bytes *ret_text)
{
    size_t length;
    if (!read_length(rest, &length))
        return false;
    *ret_text = kw_bytes_of(rest->data, length);
    *rest = kw_bytes_skip(*rest, length);
    return true;
}

/* The entries of a row are adjacent. */
static void
count_row(kw_wal_batch *batch, kw_bytes key, kw_bytes *before)
{
    size_t size = kw_key_row_size(key);
    kw_bytes row = kw_bytes_of(key.data, size);
    if (kw_stamps_is_mark(key) || kw_blocks_is_mark(key))
        return;
    if (size == 0)
        batch->tables++;
    else if (!kw_bytes_equal(row, *before))
        batch->rows++;
    *before = row;
}

bool
kw_wal_batch_read(kw_bytes record, kw_wal_batch *ret_batch)
{
    if (record.size < HEAD_BYTES)
        return false;
    *ret_batch =
        (kw_wal_batch){.sequence = load_le(record.data, 8), .entries = (uint32_t)load_le(record.data + 8, 4)};
    kw_bytes rest = kw_bytes_skip(record, HEAD_BYTES), before = KW_BYTES_NONE, key, value;
    uint32_t read = 0;
    while (read < ret_batch->entries && rest.size) {
        uint8_t tag = rest.data[0];
        rest = kw_bytes_skip(rest, 1);
        if (tag > TAG_LOG_DATA || tag == 2 || !read_text(&rest, &key) ||
            (tag == TAG_PUT && !read_text(&rest, &value)))
            break;
        if (tag == TAG_LOG_DATA)
            continue; /* is not counted as an entry */
        count_row(ret_batch, key, &before);
        read++;
    }
    ret_batch->complete = read == ret_batch->entries;
    return true;
}
