/* Which bin a score is in: bins are right-closed, and the first also owns 0. The rule of `uniform_index` and `bin_index`. */
#ifndef BELIEVABLE_BINS_H
#define BELIEVABLE_BINS_H

#include "arrays.h"

enum { UNIFORM, TABLE, SEARCH }; /* edges k/M; any edges, with a table of where to look; any edges */
#define LOOKUP 4096              /* cells of the table */

typedef struct {
    const void *edges;    /* n + 1 of them, in the type of the scores */
    const int32_t *first; /* of TABLE: the number of inner edges in cells before this one */
    Py_ssize_t n;
    int kind, apart; /* apart: 0 and 1 have bins of their own, before and after the others */
} Bins;

/* The bin of a score in [0, 1]. Edges k/M are divided anew, which is exactly what was rounded when they were made, and
 * unlike looking them up can be done for several scores at once. */
#define BIN_OF(NAME, SCORE)                                                                                          \
    INLINE int32_t NAME(SCORE p, const Bins *bins, int kind, int apart)                                              \
    {                                                                                                                \
        const SCORE *edges = bins->edges;                                                                            \
        int32_t k;                                                                                                   \
        if (kind == UNIFORM) {                                                                                       \
            k = (int32_t)(p * (SCORE)bins->n);                                                                       \
            k -= (p <= (SCORE)k / (SCORE)bins->n) & (k > 0);                                                         \
        } else {                                                                                                     \
            int32_t end = (int32_t)bins->n - 1;                                                                      \
            k = 0;                                                                                                   \
            if (kind == TABLE) {                                                                                     \
                const int32_t cell = (int32_t)(p * (SCORE)LOOKUP);                                                   \
                k = bins->first[cell], end = bins->first[cell + 1];                                                  \
            }                                                                                                        \
            while (k < end) {                                                                                        \
                const int32_t middle = (k + end) / 2;                                                                \
                if (edges[middle + 1] < p)                                                                           \
                    k = middle + 1;                                                                                  \
                else                                                                                                 \
                    end = middle;                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        return apart ? k + (p > 0) + (p >= 1) : k;                                                                   \
    }

BIN_OF(bin_of_float, float)
BIN_OF(bin_of_double, double)

#endif
