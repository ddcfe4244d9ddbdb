#include "store/embedded/wal_reader.h"

#include "store/embedded/crc32c.h"

#define BLOCK_BYTES ((size_t)32768)
#define HEAD_BYTES ((size_t)7)

enum { WHOLE = 1, FIRST = 2, MIDDLE = 3, LAST = 4 };

typedef struct fragment {
    uint32_t checksum; /* as stored */
    uint8_t type;
    kw_bytes payload;
} fragment;

void
kw_wal_reader_init(kw_wal_reader *reader, kw_bytes file)
{
    *reader = (kw_wal_reader){.file = file};
}

void
kw_wal_reader_clear(kw_wal_reader *reader)
{
    kw_buffer_clear(&reader->joined);
}

/* --- fragments ------------------------------------------------------------------------------------ */

static uint32_t
mask_crc(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

static uint32_t
checksum_of(uint8_t type, kw_bytes payload)
{
    return mask_crc(kw_crc32c(kw_crc32c(0, kw_bytes_of(&type, 1)), payload));
}

/* True if a fragment that reaches beyond the end of the file is whole but has a damaged length: then its
 * checksum is correct for a smaller length. Otherwise its writer died before it had written all of it. */
static bool
is_whole_but_for_its_length(const fragment *truncated)
{
    uint32_t crc = kw_crc32c(0, kw_bytes_of(&truncated->type, 1));
    for (size_t size = 0; size < truncated->payload.size; size++) {
        if (mask_crc(crc) == truncated->checksum)
            return true;
        crc = kw_crc32c(crc, kw_bytes_of(truncated->payload.data + size, 1));
    }
    return mask_crc(crc) == truncated->checksum;
}

static kw_wal_step
broken(kw_wal_reader *reader, const char *why)
{
    reader->why = why;
    return KW_WAL_BROKEN;
}

static kw_wal_step
truncated(kw_wal_reader *reader, kw_bytes rest)
{
    reader->rest = rest;
    reader->why = "the file ends inside a record";
    return KW_WAL_TRUNCATED;
}

/* The end of a block that is too small for a head is unused. */
static void
skip_block_end(kw_wal_reader *reader)
{
    size_t left = BLOCK_BYTES - reader->at % BLOCK_BYTES;
    if (left < HEAD_BYTES)
        reader->at += left;
}

/* Reads the fragment at reader->at. RECORD: it is complete, and its checksum is correct. */
static kw_wal_step
read_fragment(kw_wal_reader *reader, fragment *ret_fragment)
{
    const uint8_t *head = reader->file.data + reader->at;
    size_t in_file = reader->file.size - reader->at, in_block = BLOCK_BYTES - reader->at % BLOCK_BYTES;
    if (in_file < HEAD_BYTES)
        return truncated(reader, KW_BYTES_NONE);
    size_t length = head[4] | (size_t)head[5] << 8;
    *ret_fragment = (fragment){
        .checksum = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24,
        .type = head[6],
        .payload =
            kw_bytes_of(head + HEAD_BYTES, length < in_file - HEAD_BYTES ? length : in_file - HEAD_BYTES)};
    if (ret_fragment->type == 0 && length == 0)
        return broken(reader, "there are zeros instead of a record");
    if (ret_fragment->type < WHOLE || ret_fragment->type > LAST)
        return broken(reader, "a record has an unknown type");
    if (length > in_block - HEAD_BYTES)
        return broken(reader, "a record is longer than its block");
    if (length > in_file - HEAD_BYTES)
        return is_whole_but_for_its_length(ret_fragment) ? broken(reader, "a record has a wrong length")
                                                         : truncated(reader, ret_fragment->payload);
    reader->rest = ret_fragment->payload;
    if (checksum_of(ret_fragment->type, ret_fragment->payload) != ret_fragment->checksum)
        return broken(reader, "the checksum of a record is wrong");
    return KW_WAL_RECORD;
}

/* --- records -------------------------------------------------------------------------------------- */

static kw_wal_step
join(kw_wal_reader *reader, const fragment *next, bool *ret_done)
{
    bool inside = reader->at != reader->start;
    bool begins = next->type == WHOLE || next->type == FIRST;
    if (begins == inside)
        return broken(reader,
                      inside ? "a record starts inside another one" : "the start of a record is missing");
    *ret_done = next->type == WHOLE || next->type == LAST;
    reader->at += HEAD_BYTES + next->payload.size;
    reader->rest = KW_BYTES_NONE;
    if (next->type == WHOLE) {
        reader->record = next->payload;
        return KW_WAL_RECORD;
    }
    kw_buffer_append(&reader->joined, next->payload);
    reader->record = kw_buffer_bytes(&reader->joined);
    return KW_WAL_RECORD;
}

kw_wal_step
kw_wal_reader_next(kw_wal_reader *reader)
{
    bool done = false;
    reader->joined.size = 0;
    reader->record = reader->rest = KW_BYTES_NONE;
    skip_block_end(reader);
    reader->start = reader->at;
    if (reader->at >= reader->file.size)
        return KW_WAL_END;
    while (!done) {
        fragment next;
        skip_block_end(reader);
        if (reader->at >= reader->file.size)
            return truncated(reader, KW_BYTES_NONE);
        kw_wal_step found = read_fragment(reader, &next);
        if (found == KW_WAL_RECORD)
            found = join(reader, &next, &done);
        if (found != KW_WAL_RECORD)
            return found;
    }
    return KW_WAL_RECORD;
}

bool
kw_wal_reader_find(kw_wal_reader *reader)
{
    kw_wal_reader trial = *reader;
    fragment first;
    for (size_t at = reader->at + 1; at + HEAD_BYTES <= reader->file.size; at++) {
        trial.at = at;
        if (BLOCK_BYTES - at % BLOCK_BYTES < HEAD_BYTES || read_fragment(&trial, &first) != KW_WAL_RECORD ||
            (first.type != WHOLE && first.type != FIRST))
            continue;
        kw_wal_step found = kw_wal_reader_next(&trial);
        *reader = trial; /* including the buffer */
        if (found == KW_WAL_RECORD)
            return true;
    }
    return false;
}
