#include "cli/source_input.h"

#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Reads from the file into the free part of raw. False on an error. */
static bool
fill(kw_source_input *input)
{
    ssize_t bytes =
        kw_read_interruptible(input->fd, input->raw + input->raw_size, KW_INPUT_BYTES - input->raw_size);

    if (bytes < 0)
        return false;
    input->at_end = bytes == 0;
    input->raw_size += (gsize)bytes;
    input->position += (gsize)bytes;
    return true;
}

static void
drop(kw_source_input *input, gsize bytes)
{
    input->raw_size -= bytes;
    memmove(input->raw, input->raw + bytes, input->raw_size);
}

/* Reads the first bytes, and chooses the decoder. */
static bool
begin(kw_source_input *input)
{
    static const struct {
        const char *mark, *charset;
    } marks[] = {{"\xff\xfe", "UTF-16LE"}, {"\xfe\xff", "UTF-16BE"}, {"\xef\xbb\xbf", NULL}};

    while (input->raw_size < 3 && !input->at_end)
        if (!fill(input))
            return false;
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (input->raw_size >= strlen(marks[i].mark) &&
            memcmp(input->raw, marks[i].mark, strlen(marks[i].mark)) == 0) {
            drop(input, strlen(marks[i].mark));
            if (marks[i].charset != NULL)
                input->decoder = G_CONVERTER(g_charset_converter_new("UTF-8", marks[i].charset, NULL));
            break;
        }
    input->begun = true;
    return true;
}

/* Converts a part of raw. Returns 0 if it needs more bytes; -1 on an error. */
static ssize_t
convert(kw_source_input *input, char *to, size_t bytes_max)
{
    g_autoptr(GError) failure = NULL;
    gsize read = 0;
    gsize written = 0;

    if (input->raw_size == 0)
        return 0;
    if (g_converter_convert(input->decoder, input->raw, input->raw_size, to, bytes_max,
                            input->at_end ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &read, &written,
                            &failure) != G_CONVERTER_ERROR) {
        drop(input, read);
        return (ssize_t)written;
    }
    if (g_error_matches(failure, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT) && !input->at_end)
        return 0;
    errno = EILSEQ;
    return -1;
}

static ssize_t
read_decoded(kw_source_input *input, char *to, size_t bytes_max)
{
    ssize_t bytes = convert(input, to, bytes_max);

    while (bytes == 0 && !input->at_end) {
        if (!fill(input))
            return -1;
        bytes = convert(input, to, bytes_max);
    }
    return bytes;
}

static ssize_t
read_input(void *cookie, char *to, size_t bytes_max)
{
    kw_source_input *input = cookie;
    gsize bytes;

    if (!input->begun && !begin(input))
        return -1;
    if (input->decoder != NULL)
        return read_decoded(input, to, bytes_max);
    if (input->raw_size == 0 && !input->at_end && !fill(input))
        return -1;
    bytes = MIN(input->raw_size, bytes_max);
    memcpy(to, input->raw, bytes);
    drop(input, bytes);
    return (ssize_t)bytes;
}

FILE *
kw_source_input_open(kw_source_input *input, const char *path)
{
    cookie_io_functions_t functions = {.read = read_input};

    input->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    return input->fd < 0 ? NULL : fopencookie(input, "r", functions);
}

void
kw_source_input_clear(kw_source_input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    g_clear_object(&input->decoder);
}
