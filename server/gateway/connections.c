#include "gateway/connections.h"

#include "base/log.h"

#include <glib.h>
#include <sys/resource.h>

/* Open files reserved for the store, logs and libraries, but at most half of all. The rest is for
 * connections. */
#define FILES_RESERVED 2048
#define FILES_MAX 1048576

/* The number of files that the process can open, minus a reserve. */
static size_t
connections_by_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SIZE_MAX;
    return (size_t)(limit.rlim_cur - MIN(limit.rlim_cur / 2, FILES_RESERVED));
}

kw_net_limits
kw_connections_limits(const kw_model *model)
{
    size_t connections = MIN((size_t)model->limits.connections, connections_by_files());
    size_t of_peer = model->limits.peer_connections > 0 ? (size_t)model->limits.peer_connections
                                                        : MAX(connections / 5 * 4, 1);
    return (kw_net_limits){.connections = connections,
                           .peer_connections = of_peer,
                           .frame_bytes = (size_t)model->limits.frame_bytes,
                           .in_flight = (uint32_t)model->limits.in_flight,
                           .frame_ms = (uint64_t)model->timeouts.frame_ms,
                           .idle_ms = (uint64_t)model->timeouts.idle_ms};
}

void
kw_connections_raise_file_limit(const kw_model *model)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)model->limits.connections + FILES_RESERVED;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = MIN(limit.rlim_max, MAX((rlim_t)FILES_MAX, wanted));
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted)
        kw_log(KW_LOG_WARN, "gateway",
               "the limit of open files allows fewer connections than limits.connections",
               KW_LOG_FACT("open_files", limit.rlim_cur),
               KW_LOG_FACT("connections", kw_connections_limits(model).connections));
}
