/* Runs the contract's tests on the embedded store, in a folder of its own. */
#include "contract/contract.h"
#include "store/embedded/embedded.h"
#include "support/seeded.h"

#include <glib/gstdio.h>

static char *folder;

static kw_store *
open_store(void)
{
    kw_model_embedded settings = {.path = folder, .cache_bytes = 8 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    return store;
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    folder = g_dir_make_tmp("keyway-contract-XXXXXX", NULL);
    g_assert_nonnull(folder);
    kw_contract_add_tests("kwc", open_store);
    int failed = g_test_run();
    kw_contract_finish();
    const char *const remove_folder[] = {"rm", "-rf", folder, NULL};
    g_spawn_sync(NULL, (char **)(uintptr_t)remove_folder, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    g_free(folder);
    return failed;
}
