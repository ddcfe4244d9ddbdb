/* The table that the benchmark prints: a row per measure, with its target. */
#pragma once

#include <stdbool.h>

typedef enum bound { AT_LEAST, AT_MOST, NO_BOUND } bound;

typedef struct table_row {
    const char *measure;
    const char *first;
    const char *second;
    double value; /* compared with the target */
    const char *unit;
    bound bound;
    double must, aim;
} table_row;

/* Prints the head; first and second name the two ways. */
void table_begin(const char *first, const char *second);
void table_add(const table_row *row);
/* The same with the spread of the value. */
void table_add_spread(const table_row *row, double low, double high);
/* True if every row so far met its target. */
bool table_met(void);
