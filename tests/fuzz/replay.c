/* Runs a fuzz target without a fuzzer: every corpus file, then deterministic mutations of them.
 *
 *   fuzz_NAME [--seed N] [--mutations N] [folder or file ...]
 *
 * Without a corpus the mutations start from an empty input. If the target crashes, its input is in the file
 * fuzz_NAME.crash in the working directory.
 */
#include <glib.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX_BYTES ((size_t)64 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static uint64_t seed = 20260101;
static unsigned mutations = 30000;
static char crash_file[256];
static const uint8_t *volatile present_data;
static volatile size_t present_size;

/* --- after a crash ---------------------------------------------------------------------------- */

/* Calls only functions that a signal handler is allowed to call. */
static void
save_input(void)
{
    int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0)
        return;
    ssize_t written = write(file, present_data, present_size);
    static const char note[] = "the input was saved to ";
    if (written >= 0 && write(STDERR_FILENO, note, sizeof note - 1) > 0 &&
        write(STDERR_FILENO, crash_file, strlen(crash_file)) > 0)
        written = write(STDERR_FILENO, "\n", 1);
    close(file);
}

static void
crashed(int signal_number)
{
    save_input();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void
watch_for_crashes(const char *program)
{
    g_autofree char *name = g_path_get_basename(program);
    g_snprintf(crash_file, sizeof crash_file, "%s.crash", name);
    signal(SIGABRT, crashed); /* failed assertions; the sanitizers do not handle this signal */
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(save_input);
        return;
    }
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        signal(signals[i], crashed);
}

/* --- mutating --------------------------------------------------------------------------------- */

static uint32_t
below(uint32_t bound)
{
    /* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016 */
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % bound;
}

static void
overwrite_number(GByteArray *input)
{
    static const uint32_t numbers[] = {0,      1,      0x7f,       0x80,       0xff,      0x100,
                                       0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t value = GUINT32_TO_BE(numbers[below(G_N_ELEMENTS(numbers))]);
    guint size = 1u << below(3);
    if (input->len >= size)
        memcpy(input->data + below(input->len - size + 1), (uint8_t *)&value + 4 - size, size);
}

static void
insert_bytes(GByteArray *input, const uint8_t *bytes, guint count, guint where)
{
    if (input->len + count > INPUT_MAX_BYTES)
        return;
    guint old = input->len;
    g_byte_array_set_size(input, old + count);
    memmove(input->data + where + count, input->data + where, old - where);
    if (count)
        memcpy(input->data + where, bytes, count);
}

/* Copies a piece of another corpus file, or of the same, to a random place. */
static void
take_piece(GByteArray *input, const GByteArray *other)
{
    if (other->len == 0)
        return;
    guint start = below(other->len);
    guint count = 1 + below(MIN(other->len - start, 64));
    g_autofree uint8_t *piece = g_memdup2(other->data + start, count);
    insert_bytes(input, piece, count, below(input->len + 1));
}

static void
remove_bytes(GByteArray *input)
{
    if (input->len == 0)
        return;
    guint start = below(input->len);
    g_byte_array_remove_range(input, start, 1 + below(MIN(input->len - start, 16)));
}

static void
mutate(GByteArray *input, const GByteArray *other)
{
    uint8_t byte = (uint8_t)below(256);
    switch (below(8)) {
    case 0:
        if (input->len)
            input->data[below(input->len)] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (input->len)
            input->data[below(input->len)] = byte;
        break;
    case 2:
        insert_bytes(input, &byte, 1, below(input->len + 1));
        break;
    case 3:
        remove_bytes(input);
        break;
    case 4:
        if (input->len && below(4) == 0)
            g_byte_array_set_size(input, below(input->len));
        break;
    case 5:
    case 6:
        overwrite_number(input);
        break;
    default:
        take_piece(input, other);
        break;
    }
}

/* --- running ---------------------------------------------------------------------------------- */

/* Copies the input to a block of exactly its size, so that a sanitizer detects reads past its end. */
static void
run(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *copy = g_malloc(size ? size : 1);
    if (size)
        memcpy(copy, data, size);
    present_data = copy;
    present_size = size;
    LLVMFuzzerTestOneInput(copy, size);
}

static void
load_file(GPtrArray *corpus, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *data = NULL;
    gsize size;
    if (!g_file_get_contents(path, &data, &size, &error)) {
        fprintf(stderr, "%s\n", error->message);
        exit(2);
    }
    GByteArray *file = g_byte_array_new();
    g_byte_array_append(file, (const guint8 *)data, (guint)MIN(size, INPUT_MAX_BYTES));
    g_ptr_array_add(corpus, file);
}

static int
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
load_path(GPtrArray *corpus, const char *path)
{
    GDir *folder = g_dir_open(path, 0, NULL);
    if (!folder) {
        load_file(corpus, path);
        return;
    }
    /* Sorted by name, so that a seed gives the same inputs everywhere. */
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(folder));)
        g_ptr_array_add(names, g_build_filename(path, name, NULL));
    g_dir_close(folder);
    g_ptr_array_sort(names, by_name);
    for (guint i = 0; i < names->len; i++)
        load_path(corpus, names->pdata[i]);
}

static void
run_mutations(const GPtrArray *corpus)
{
    g_autoptr(GByteArray) input = g_byte_array_new();
    for (unsigned round = 0; round < mutations; round++) {
        const GByteArray *from = corpus->pdata[below(corpus->len)];
        const GByteArray *other = corpus->pdata[below(corpus->len)];
        g_byte_array_set_size(input, 0);
        g_byte_array_append(input, from->data, from->len);
        for (unsigned changes = 1 + below(6); changes > 0; changes--)
            mutate(input, other);
        run(input->data, input->len);
    }
}

static uint64_t
number_of(const char *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = text ? strtoull(text, &end, 10) : 0;
    if (!text || errno || *end || end == text) {
        fprintf(stderr, "%s needs a number\n", option);
        exit(2);
    }
    return value;
}

int
main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    g_autoptr(GPtrArray) corpus = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            seed = number_of("--seed", argv[++i]) | 1;
        else if (strcmp(argv[i], "--mutations") == 0)
            mutations = (unsigned)number_of("--mutations", argv[++i]);
        else
            load_path(corpus, argv[i]);
    }
    watch_for_crashes(argv[0]);
    printf("seed %" G_GUINT64_FORMAT ", %u corpus files, %u mutations\n", seed, corpus->len, mutations);
    fflush(stdout);
    run(NULL, 0);
    for (guint i = 0; i < corpus->len; i++) {
        const GByteArray *file = corpus->pdata[i];
        run(file->data, file->len);
    }
    if (corpus->len == 0)
        g_ptr_array_add(corpus, g_byte_array_new());
    run_mutations(corpus);
    return 0;
}
