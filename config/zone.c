/* Names of time zones. A name in the database is a path in its folder, and policies can come from callers.
 * So only the characters of the database's own names are accepted, which excludes "..", a leading '/' and
 * ':', and only a regular file is opened. */
#include "config/parse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES_MAX 64
#define FILE_BYTES_MAX (1024 * 1024)

/* Offsets, which need no database: Z, UTC, +8, +0800, +08:00, +08:00:30. */
static bool
is_offset(const char *text)
{
    if (strcmp(text, "UTC") == 0 || strcmp(text, "Z") == 0)
        return true;
    return (text[0] == '+' || text[0] == '-') && g_ascii_isdigit(text[1]) &&
           text[1 + strspn(text + 1, "0123456789:")] == '\0';
}

/* Parts of letters, digits, '_', '+' and '-', separated by slashes; each part begins with a letter. */
static bool
is_name(const char *text)
{
    if (!g_ascii_isalpha(text[0]) || strlen(text) > NAME_BYTES_MAX)
        return false;
    for (const char *at = text; *at; at++)
        if (!g_ascii_isalnum(*at) && !strchr("_+-", *at) && (*at != '/' || !g_ascii_isalpha(at[1])))
            return false;
    return true;
}

static bool
is_zone_file(int file)
{
    struct stat facts;
    char magic[4];
    return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= FILE_BYTES_MAX &&
           read(file, magic, sizeof magic) == sizeof magic && memcmp(magic, "TZif", sizeof magic) == 0;
}

/* Searches the folder that GLib searches. */
static bool
is_in_database(const char *name)
{
    const char *folder = g_getenv("TZDIR");
    g_autofree char *path = g_build_filename(folder ? folder : "/usr/share/zoneinfo", name, NULL);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return false;
    bool found = is_zone_file(file);
    close(file);
    return found;
}

bool
kw_parse_zone(const char *text, kw_refusal *ret_refusal)
{
    if (is_offset(text) || (is_name(text) && is_in_database(text)))
        return true;
    *ret_refusal =
        (kw_refusal){"is not a time zone", "use for example UTC, Europe/Berlin or +08:00; names are from the "
                                           "system's time zone database (package tzdata)"};
    return false;
}
