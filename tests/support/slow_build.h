/* Builds with sanitizers are five to twenty times slower, and look for other faults than wrong answers: long
 * tests try a part of their cases there. The ordinary build tries all of them. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KW_SLOW_BUILD 1
#else
#define KW_SLOW_BUILD 0
#endif

/* The step of a loop over all cases: n under sanitizers. */
#define KW_TEST_STEP(n) (KW_SLOW_BUILD ? (n) : 1)
