/* Builds with sanitizers are five to twenty times slower and search for other defects than wrong results.
 * Long tests run some of their cases there, and all of them in an ordinary build. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KW_SLOW_BUILD 1
#else
#define KW_SLOW_BUILD 0
#endif

/* The step of a loop over all cases: n under sanitizers. */
#define KW_TEST_STEP(n) (KW_SLOW_BUILD ? (n) : 1)
