/* A table whose only path has two placements, as while its key rule changes. */
#pragma once

#include "../verb/desk.h"

/* Table `now` has the new rule, a salt; table `then` lends its layout and store table to the old
 * placement. */
extern const char two_rules[];

/* Those of the table that two_placements returned last: the new one, then the old one. */
extern kw_placement placements[2];

/* Gives table `now` both placements with these roles. */
kw_table *two_placements(desk *self, kw_role fresh, kw_role old);
