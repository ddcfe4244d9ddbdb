/* Standard error is shared with other processes, so its open file description must stay blocking. A pipe or a
 * terminal is opened a second time as non-blocking; a socket is written with MSG_DONTWAIT; a file never
 * blocks. If none of these works, the thread writes every line. */
#include "base/log_writer.h"

#include "base/clock.h"
#include "base/metrics.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_BYTES_MAX ((size_t)256 * 1024)
/* A pipe accepts a write of at most this size as a whole or not at all (PIPE_BUF). */
#define PIECE_BYTES_MAX ((size_t)4096)
#define POLL_MS 100

typedef enum target {
    TARGET_FILE,    /* never blocks */
    TARGET_SOCKET,  /* written with MSG_DONTWAIT */
    TARGET_OWN,     /* our own non-blocking file description */
    TARGET_BLOCKING /* only the thread can write */
} target;

static struct {
    kw_mutex lock; /* innermost lock; guards all that changes while the thread runs, except `batch` */
    kw_condition filled;
    kw_thread thread;
    kw_log_lost *describe_lost;
    target target;
    int descriptor;
    kw_buffer queue;
    kw_buffer batch; /* what the thread writes; used by it alone */
    uint64_t lost;   /* since the last line that reported it */
    bool started, writing, stopping;
    kw_deadline until; /* while stopping: when to give up */
} writer = {.lock = {PTHREAD_MUTEX_INITIALIZER}, .target = TARGET_BLOCKING, .descriptor = STDERR_FILENO};

/* --- standard error ------------------------------------------------------------------------------ */

static void
choose_target(void)
{
    struct stat facts;
    writer.descriptor = STDERR_FILENO;
    writer.target = TARGET_BLOCKING;
    if (fstat(STDERR_FILENO, &facts) != 0 || S_ISREG(facts.st_mode)) {
        writer.target = TARGET_FILE;
        return;
    }
    if (S_ISSOCK(facts.st_mode)) {
        writer.target = TARGET_SOCKET;
        return;
    }
    int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return;
    writer.descriptor = own;
    writer.target = TARGET_OWN;
}

/* Returns the number of bytes written; -1 if standard error is blocked now. If it is broken, all bytes count
 * as written. */
static ssize_t
write_some(kw_bytes bytes)
{
    ssize_t written = writer.target == TARGET_SOCKET
                          ? send(writer.descriptor, bytes.data, bytes.size, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : write(writer.descriptor, bytes.data, bytes.size);
    if (written >= 0)
        return written;
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? -1 : (ssize_t)bytes.size;
}

static bool
is_writable(int wait_ms)
{
    struct pollfd asked = {.fd = writer.descriptor, .events = POLLOUT};
    return poll(&asked, 1, wait_ms) > 0;
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* True if the writer is stopping and its timeout has passed. */
static bool
drain_timed_out(void)
{
    kw_mutex_lock(&writer.lock);
    bool over = writer.stopping && kw_deadline_passed(writer.until);
    kw_mutex_unlock(&writer.lock);
    return over;
}

static void
write_batch(void)
{
    kw_bytes left = kw_buffer_bytes(&writer.batch);
    while (left.size && !drain_timed_out()) {
        if (!is_writable(POLL_MS))
            continue;
        ssize_t written =
            write_some(kw_bytes_of(left.data, left.size < PIECE_BYTES_MAX ? left.size : PIECE_BYTES_MAX));
        if (written > 0)
            left = kw_bytes_skip(left, (size_t)written);
    }
    writer.batch.size = 0;
}

/* With the lock. */
static void
report_lost(void)
{
    uint64_t lost = writer.lost;
    writer.lost = 0;
    writer.describe_lost(lost, &writer.queue);
}

/* Waits until there are lines to write. False if the writer stops and the queue is empty. With the lock. */
static bool
wait_for_lines(void)
{
    while (writer.queue.size == 0 && writer.lost == 0 && !writer.stopping)
        kw_condition_wait(&writer.filled, &writer.lock);
    if (writer.queue.size == 0 && writer.lost)
        report_lost();
    return writer.queue.size > 0;
}

static void
run(void *unused)
{
    (void)unused;
    kw_mutex_lock(&writer.lock);
    while (wait_for_lines()) {
        kw_buffer empty = writer.batch;
        writer.batch = writer.queue;
        writer.queue = empty;
        writer.writing = true;
        kw_mutex_unlock(&writer.lock);
        write_batch();
        kw_mutex_lock(&writer.lock);
        writer.writing = false;
        if (writer.stopping && kw_deadline_passed(writer.until))
            break;
    }
    kw_mutex_unlock(&writer.lock);
}

/* --- callers ------------------------------------------------------------------------------------- */

/* False if the queue is full. With the lock. */
static bool
queue_line(kw_bytes line)
{
    if (writer.queue.size + line.size > QUEUE_BYTES_MAX) {
        writer.lost++;
        kw_metrics_add(KW_METRIC_log_lines_lost, 1);
        return false;
    }
    if (writer.lost)
        report_lost();
    kw_buffer_append(&writer.queue, line);
    kw_condition_signal(&writer.filled);
    return true;
}

/* Writes the line until standard error is blocked, and returns the rest. With the lock. */
static kw_bytes
write_now(kw_bytes line)
{
    while (line.size) {
        ssize_t written = write_some(line);
        if (written <= 0)
            break;
        line = kw_bytes_skip(line, (size_t)written);
    }
    return line;
}

bool
kw_log_writer_put(kw_bytes line)
{
    kw_mutex_lock(&writer.lock);
    bool waits = writer.queue.size > 0 || writer.writing || writer.lost > 0;
    if (!writer.started) {
        ssize_t written = write(STDERR_FILENO, line.data, line.size);
        (void)written; /* there is no other place to report an error of standard error */
        line.size = 0;
    } else if (!waits && writer.target != TARGET_BLOCKING) {
        line = write_now(line);
    }
    bool accepted = line.size == 0 || queue_line(line);
    kw_mutex_unlock(&writer.lock);
    return accepted;
}

void
kw_log_writer_start(kw_log_lost *describe_lost)
{
    choose_target();
    kw_condition_init(&writer.filled);
    writer.describe_lost = describe_lost;
    writer.stopping = false;
    kw_mutex_lock(&writer.lock);
    writer.started = true;
    kw_mutex_unlock(&writer.lock);
    kw_thread_start(&writer.thread, "log", run, NULL);
}

void
kw_log_writer_stop(uint32_t timeout_ms)
{
    kw_mutex_lock(&writer.lock);
    writer.stopping = true;
    writer.until = kw_deadline_in_ms(timeout_ms);
    kw_condition_signal(&writer.filled);
    kw_mutex_unlock(&writer.lock);
    kw_thread_join(&writer.thread);
    kw_mutex_lock(&writer.lock);
    writer.started = false;
    kw_mutex_unlock(&writer.lock);
    kw_condition_clear(&writer.filled);
    kw_buffer_clear(&writer.queue);
    kw_buffer_clear(&writer.batch);
    if (writer.descriptor != STDERR_FILENO)
        close(writer.descriptor);
    writer.descriptor = STDERR_FILENO;
    writer.lost = 0;
}
