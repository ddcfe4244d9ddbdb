/* From a member to the struct that contains it. */
#pragma once

#include <stddef.h>

#define KW_CONTAINER(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
