/* Moments of rows by code: n, p and p^2; or, with weights, n, w, wp, w^2, w^2 p, w p^2 and w^2 p^2.
 *
 * A code has them twice: of outcome 0 and of outcome 1; or, where outcomes are shares, of all rows and of those
 * shares. */
#ifndef BELIEVABLE_CODED_H
#define BELIEVABLE_CODED_H

#include "arrays.h"

INLINE void add_row(double *at, double share, double p, double w, int moments)
{
    at[0] += share;
    if (moments == 3) {
        at[1] += share * p;
        at[2] += share * (p * p);
        return;
    }
    const double sw = share * w, swp = sw * p;
    at[1] += sw;
    at[2] += swp;
    at[3] += sw * w;
    at[4] += swp * w;
    at[5] += swp * p;
    at[6] += swp * p * w;
}

/* Whether outcomes are shares. */
INLINE int is_soft(char type)
{
    return type == 'f' || type == 'd';
}

#endif
