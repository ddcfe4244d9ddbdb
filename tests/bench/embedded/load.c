/* Rows for the parts that read. */
#include "bench.h"

typedef struct loading {
    kw_bytes table;
    size_t rows, next;
    bench_fill fill;
    void *user;
    bench_loop *loop;
    kw_write writes[BENCH_BATCH];
    const kw_write *pointers[BENCH_BATCH];
    kw_written results[BENCH_BATCH];
} loading;

static void
load_batch(void *user)
{
    loading *load = user;
    size_t count = 0;
    for (; count < BENCH_BATCH && load->next < load->rows; count++, load->next++) {
        load->writes[count] = (kw_write){.kind = KW_WRITE_PUT,
                                         .table = load->table,
                                         .timestamp = 1,
                                         .durability = KW_DURABILITY_ASYNC_WAL,
                                         .deadline = KW_DEADLINE_NONE};
        load->fill(load->user, load->next, count, &load->writes[count]);
        load->pointers[count] = &load->writes[count];
    }
    if (count == 0)
        bench_end_loop(load->loop);
    else
        kw_store_handle_write_many(load->loop->handle, load->pointers, count, load->results, load_batch,
                                   load);
}

static void
begin_load(kw_task *task)
{
    loading *load = bench_loop_of(task)->work;
    load->loop = bench_loop_of(task);
    load_batch(load);
}

void
bench_load(kw_store *store, kw_bytes table, size_t rows, bench_fill fill, void *user)
{
    bench_make_table(store, table);
    loading *load = g_new0(loading, 1);
    load->table = table;
    load->rows = rows;
    load->fill = fill;
    load->user = user;
    bench_loop loop;
    bench_on_loops(store, &loop, 1, begin_load, load);
    g_free(load);
}
