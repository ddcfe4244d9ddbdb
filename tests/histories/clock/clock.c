/* A wrong clock for a process: loaded with LD_PRELOAD, it adds an offset to the time of day.
 *
 *   KW_CLOCK_OFFSET   the offset, for example +2s, -0.005s or -1h
 *   KW_CLOCK_FILE     a file that contains the offset; it is read at each call
 *
 * libfaketime cannot be used for keywayd: it allocates memory at its first call, and jemalloc reads the clock
 * before it can allocate. This library allocates nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

int clock_gettime(clockid_t clock, struct timespec *ret_time);
int gettimeofday(struct timeval *restrict ret_time, void *restrict zone);
time_t time(time_t *ret_time);

/* Nanoseconds of a sign, digits with an optional fraction, and s or h; 0 if the text is something else. */
static int64_t
offset_in(const char *text)
{
    int64_t sign = *text == '-' ? -1 : 1, ns = 0, digit_ns = NS_PER_S;
    text += *text == '-' || *text == '+';
    for (; *text >= '0' && *text <= '9'; text++)
        ns = ns * 10 + (*text - '0') * NS_PER_S;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++)
            ns += (*text - '0') * (digit_ns /= 10);
    return *text == 's' ? sign * ns : *text == 'h' ? sign * ns * 3600 : 0;
}

static int64_t
offset_of_file(const char *path)
{
    char text[32] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    return size > 0 ? offset_in(text) : 0;
}

static int64_t
offset_ns(void)
{
    int before = errno;
    const char *file = getenv("KW_CLOCK_FILE"), *text = getenv("KW_CLOCK_OFFSET");
    int64_t ns = file ? offset_of_file(file) : text ? offset_in(text) : 0;
    errno = before;
    return ns;
}

int
clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, ret_time);
    if (result || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return result;
    int64_t ns = ret_time->tv_sec * NS_PER_S + ret_time->tv_nsec + offset_ns();
    *ret_time = (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    return 0;
}

int
gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t
time(time_t *ret_time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}
