#include "filter/expression.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <glib.h>
#include <pcre2.h>
#include <time.h>

#include "filter/java_text.h"

/* Values up to this size are first matched with the quick code. A match then takes less than a second, even
 * if it needs QUICK_STEPS steps at each start position, and each step reads all bytes. */
#define QUICK_BYTES ((size_t)512)
#define QUICK_STEPS 500
/* Time limit of one match, in CPU time of the thread, so that the load of the machine does not change
 * results. Java has no limit. */
#define MATCH_NS ((uint64_t)1000000000)
#define HEAP_KIB 16384
#define STACK_BYTES_LEAST ((size_t)32 * 1024)
#define STACK_BYTES_MOST ((size_t)1024 * 1024)

struct kw_expression {
    pcre2_code *quick, *watched; /* both NULL if `error` is set */
    int error;
};

/* --- compiling ----------------------------------------------------------------------------------- */

static pcre2_code *
compile(kw_bytes text, uint32_t options, int *ret_error)
{
    PCRE2_SIZE at;
    options |= PCRE2_UTF | PCRE2_DOTALL | PCRE2_ALT_BSUX | PCRE2_NEVER_BACKSLASH_C;
    pcre2_code *code =
        pcre2_compile(text.data ? text.data : (PCRE2_SPTR) "", text.size, options, ret_error, &at, NULL);
    if (code)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if this fails, the code is interpreted */
    return code;
}

kw_expression *
kw_expression_new(kw_bytes text, bool any_case)
{
    kw_expression *self = g_new0(kw_expression, 1);
    uint32_t options = any_case ? PCRE2_CASELESS : 0;
    kw_buffer java = KW_BUFFER_EMPTY;
    kw_bytes shown = kw_java_text(text, &java);
    self->quick = compile(shown, options, &self->error);
    self->watched = self->quick ? compile(shown, options | PCRE2_AUTO_CALLOUT, &self->error) : NULL;
    if (self->watched)
        self->error = 0;
    kw_buffer_clear(&java);
    return self;
}

void
kw_expression_free(kw_expression *self)
{
    if (!self)
        return;
    pcre2_code_free(self->quick);
    pcre2_code_free(self->watched);
    g_free(self);
}

bool
kw_expression_error(const kw_expression *self, char *ret_why, size_t size)
{
    if (self->error)
        pcre2_get_error_message(self->error, (PCRE2_UCHAR *)ret_why, size);
    return self->error != 0;
}

/* Other errors can be due to expressions that only Java supports. */
bool
kw_expression_is_wrong(const kw_expression *self)
{
    switch (self->error) {
    case PCRE2_ERROR_END_BACKSLASH:
    case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
    case PCRE2_ERROR_MISSING_SQUARE_BRACKET:
    case PCRE2_ERROR_CLASS_RANGE_ORDER:
    case PCRE2_ERROR_QUANTIFIER_INVALID:
    case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
    case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
        return true;
    default:
        return false;
    }
}

/* --- matching ------------------------------------------------------------------------------------ */

struct kw_matcher {
    pcre2_match_data *data; /* one pair, because the contents of groups are not needed */
    pcre2_match_context *quick, *watched;
    pcre2_jit_stack *stack;

    kw_effort *effort; /* effort of the present match */
    uint64_t unlooked; /* units spent since the time was checked */
    uint64_t until_ns; /* in CPU time of the thread */
    size_t place;      /* position in the text at the last callout */
};

static uint64_t
thread_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Between two items a match can scan the whole text, or compare a long group with it. So each callout spends
 * a share of the text's length, and the time is checked more often for a long text. */
static int
call_out(pcre2_callout_block *block, void *user)
{
    kw_matcher *self = user;
    size_t moved = block->current_position > self->place ? block->current_position - self->place
                                                         : self->place - block->current_position;
    uint64_t units = 32 + moved + block->subject_length / 64;
    self->place = block->current_position;
    self->unlooked += units;
    if (!kw_effort_spend(self->effort, units))
        return PCRE2_ERROR_CALLOUT;
    if (self->unlooked < KW_EFFORT_LOOK)
        return 0;
    self->unlooked = 0;
    return thread_ns() > self->until_ns ? PCRE2_ERROR_MATCHLIMIT : 0;
}

kw_matcher *
kw_matcher_new(void)
{
    kw_matcher *self = g_new0(kw_matcher, 1);
    self->data = pcre2_match_data_create(1, NULL);
    self->quick = pcre2_match_context_create(NULL);
    self->watched = pcre2_match_context_create(NULL);
    self->stack = pcre2_jit_stack_create(STACK_BYTES_LEAST, STACK_BYTES_MOST, NULL);
    g_assert(self->data && self->quick && self->watched);
    pcre2_set_match_limit(self->quick, QUICK_STEPS);
    pcre2_set_match_limit(self->watched, UINT32_MAX);
    pcre2_set_heap_limit(self->quick, HEAP_KIB);
    pcre2_set_heap_limit(self->watched, HEAP_KIB);
    pcre2_set_callout(self->watched, call_out, self);
    if (self->stack)
        pcre2_jit_stack_assign(self->watched, NULL, self->stack);
    return self;
}

void
kw_matcher_free(kw_matcher *self)
{
    if (!self)
        return;
    pcre2_match_data_free(self->data);
    pcre2_match_context_free(self->quick);
    pcre2_match_context_free(self->watched);
    pcre2_jit_stack_free(self->stack);
    g_free(self);
}

static kw_match
match(kw_matcher *self, const pcre2_code *code, pcre2_match_context *context, kw_bytes text)
{
    PCRE2_SPTR subject = text.data ? text.data : (PCRE2_SPTR) "";
    int found = pcre2_match(code, subject, text.size, 0, PCRE2_NO_UTF_CHECK, self->data, context);
    if (found >= 0)
        return KW_MATCH_FOUND;
    if (found == PCRE2_ERROR_NOMATCH)
        return KW_MATCH_NONE;
    return found == PCRE2_ERROR_CALLOUT ? KW_MATCH_OVER : KW_MATCH_TOO_LONG;
}

/* PCRE2 keeps the memory of the largest match that was interpreted in the match data: up to HEAP_KIB. */
static void
renew_data(kw_matcher *self)
{
    pcre2_match_data_free(self->data);
    self->data = pcre2_match_data_create(1, NULL);
    g_assert(self->data);
}

kw_match
kw_matcher_find(kw_matcher *self, const kw_expression *expression, kw_bytes text, kw_effort *effort)
{
    if (!kw_effort_spend(effort, 256 + text.size))
        return KW_MATCH_OVER;
    kw_match found =
        text.size <= QUICK_BYTES ? match(self, expression->quick, self->quick, text) : KW_MATCH_TOO_LONG;
    if (found != KW_MATCH_TOO_LONG)
        return found;
    self->effort = effort;
    self->unlooked = self->place = 0;
    self->until_ns = thread_ns() + MATCH_NS;
    found = match(self, expression->watched, self->watched, text);
    renew_data(self);
    return found;
}
