/* Input blocks: received bytes always fit, and an announced message gets its memory as its bytes arrive. */
#include "net/frame.h"

#include <glib.h>

static kw_frame *
append(kw_frame_pool *pool, kw_frame *frame, size_t *start, size_t size)
{
    size_t needed = frame->filled - *start + size;
    frame = kw_frame_reserve(pool, frame, start, needed, needed);
    g_assert_cmpuint(frame->capacity - frame->filled, >=, size);
    memset(frame->data + frame->filled, (int)(size & 0xff), size);
    frame->filled += size;
    return frame;
}

/* Appends in steps of every size, including steps much larger than the present content. */
KW_TEST(received_bytes_fit, "/net/frame/fits")
{
    kw_frame_pool pool = {0};
    static const size_t steps[] = {1, 900, 40 * 1024, 64 * 1024, 200 * 1024};
    for (size_t first = 0; first < G_N_ELEMENTS(steps); first++)
        for (size_t then = 0; then < G_N_ELEMENTS(steps); then++) {
            size_t start = 0;
            kw_frame *frame = kw_frame_take(&pool, 1, NULL);
            frame = append(&pool, frame, &start, steps[first]);
            for (int i = 0; i < 4; i++)
                frame = append(&pool, frame, &start, steps[then]);
            g_assert_cmpuint(frame->filled - start, ==, steps[first] + 4 * steps[then]);
            kw_frame_unref(&pool, frame);
        }
    kw_frame_pool_clear(&pool);
}

/* A block with other references is not changed; the bytes move to another block. */
KW_TEST(a_referenced_block_is_not_changed, "/net/frame/in-use")
{
    kw_frame_pool pool = {0};
    size_t start = 0;
    kw_frame *frame = append(&pool, kw_frame_take(&pool, 1, NULL), &start, 500);
    kw_frame *held = kw_frame_ref(frame);
    start = 300;
    frame = append(&pool, frame, &start, 100 * 1024);
    g_assert_true(frame != held);
    g_assert_cmpuint(start, ==, 0);
    g_assert_cmpuint(frame->filled, ==, 200 + 100 * 1024);
    g_assert_cmpuint(held->filled, ==, 500);
    kw_frame_unref(&pool, frame);
    kw_frame_unref(&pool, held);
    kw_frame_pool_clear(&pool);
}

KW_TEST(an_announced_length_allocates_little, "/net/frame/announced")
{
    kw_frame_pool pool = {0};
    size_t start = 0;
    kw_frame *frame = append(&pool, kw_frame_take(&pool, 1, NULL), &start, 100);
    frame = kw_frame_reserve(&pool, frame, &start, 101, (size_t)16 * 1024 * 1024);
    g_assert_cmpuint(frame->capacity, <, 128 * 1024);
    g_assert_cmpuint(frame->filled, ==, 100);
    kw_frame_unref(&pool, frame);
    kw_frame_pool_clear(&pool);
}
