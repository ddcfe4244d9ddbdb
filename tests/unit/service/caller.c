#include "unit/service/caller.h"

kw_grants *caller_grants;

const kw_principal *__wrap_kw_request_principal(const kw_request *request);
kw_grants **__wrap_kw_request_grants(const kw_request *request);
const char *__wrap_kw_request_peer(const kw_request *request);

const kw_principal *
__wrap_kw_request_principal(const kw_request *request)
{
    (void)request;
    return &kw_principal_anonymous;
}

kw_grants **
__wrap_kw_request_grants(const kw_request *request)
{
    (void)request;
    return &caller_grants;
}

const char *
__wrap_kw_request_peer(const kw_request *request)
{
    (void)request;
    return "";
}
