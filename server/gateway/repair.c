#include "gateway/repair.h"

#include "gateway/gateway.h"
#include "policy/file.h"
#include "store/embedded/embedded.h"

#include <glib.h>
#include <stdio.h>

static int
repair(const kw_model *model)
{
    if (model->store.kind != KW_STORE_EMBEDDED) {
        fprintf(stderr, "keywayd: --repair is for embedded stores; this policy names another kind\n");
        return KW_EXIT_USAGE;
    }
    kw_error error = KW_ERROR_NONE;
    kw_buffer report = KW_BUFFER_EMPTY;
    bool done = kw_embedded_repair(&model->store.embedded, &report, &error);
    printf("%.*s", (int)report.size, report.size ? (const char *)report.data : "");
    kw_buffer_clear(&report);
    if (!done)
        fprintf(stderr, "keywayd: cannot repair: %s\n", error.text);
    return done ? KW_EXIT_OK : KW_EXIT_FAILED;
}

int
kw_repair_run(const char *config_file)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(config_file ? config_file : "(built in)");
    kw_policy *policy = kw_policy_file_check(config_file, found);
    if (!policy) {
        g_autofree char *text = kw_diagnostics_text(found);
        fprintf(stderr, "%s", text);
        return KW_EXIT_POLICY;
    }
    int code = repair(kw_policy_model(policy));
    kw_policy_unref(policy);
    return code;
}
