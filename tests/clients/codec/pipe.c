/* kw-codec-pipe: the codec as a program, for the drivers in other languages. Reads requests from
 * standard input until it ends; each is decoded from one protocol and encoded in another.
 *
 *   request   table (1 byte) | from (1) | to (1) | size (4, big endian) | bytes
 *   answer    0 = fine, 1 = refused (1 byte) | size (4) | the bytes, or the error's text
 *
 * Protocols: 0 binary, 1 compact. Tables: see below. The decoded value lives in a copy of the bytes
 * of just their size, so a build with sanitizers sees a read past it.
 */
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "wire/table.h"

#include <stdio.h>
#include <stdlib.h>

#define SIZE_MAX_BYTES ((uint32_t)16 << 20)

static const kw_wire_struct *const tables[] = {&kw_api_Query_wire, &kw_api_Page_wire, &kw_hb_TPut_wire,
                                               &kw_hb_TResult_wire};

static void
answer(uint8_t status, kw_bytes bytes)
{
    uint8_t head[5] = {status};
    kw_be32_store(head + 1, (uint32_t)bytes.size);
    if (fwrite(head, sizeof head, 1, stdout) != 1 || fwrite(bytes.data, 1, bytes.size, stdout) != bytes.size)
        exit(2);
    fflush(stdout);
}

static void
serve(const kw_wire_struct *table, kw_wire_protocol from, kw_wire_protocol to, kw_bytes body)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_wire_limits limits = {.decoded_bytes = 64 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_error error = KW_ERROR_NONE;
    kw_buffer out = KW_BUFFER_EMPTY;
    void *value = kw_arena_alloc(arena, table->size);
    if (!kw_wire_struct_decode(table, from, body, limits, arena, value, &error)) {
        answer(1, kw_bytes_of_text(error.text));
        return;
    }
    kw_wire_struct_encode(&out, to, table, value);
    answer(0, kw_buffer_bytes(&out));
    kw_buffer_clear(&out);
}

int
main(void)
{
    uint8_t head[7];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        uint32_t size = kw_be32_load(head + 3);
        if (head[0] >= G_N_ELEMENTS(tables) || head[1] > 1 || head[2] > 1 || size > SIZE_MAX_BYTES) {
            fprintf(stderr, "kw-codec-pipe: not a request\n");
            return 2;
        }
        g_autofree uint8_t *body = g_malloc(size ? size : 1);
        if (fread(body, 1, size, stdin) != size) {
            fprintf(stderr, "kw-codec-pipe: a request ends too early\n");
            return 2;
        }
        serve(tables[head[0]], (kw_wire_protocol)head[1], (kw_wire_protocol)head[2], kw_bytes_of(body, size));
    }
    return 0;
}
