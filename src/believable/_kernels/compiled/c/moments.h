/* What a pair adds to the sums of its code: n, p and pp; or n, w, wp, w2, w2p, wpp and w2pp. Without squares, no pp. */
#ifndef BELIEVABLE_MOMENTS_H
#define BELIEVABLE_MOMENTS_H

#include "arrays.h"

INLINE int n_moments(int weighted, int squares)
{
    return weighted ? 5 + 2 * squares : 2 + squares;
}

/* Two neighbours at once: half as many writes. */
#if defined(__GNUC__)
typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
#define ADD_TWO(at, a, b) (*(Two *)(at) += (Two){(a), (b)})
#else
#define ADD_TWO(at, a, b) ((at)[0] += (a), (at)[1] += (b))
#endif

INLINE void add_pair(double *at, double p, double w, int weighted, int squares)
{
    if (!weighted) {
        ADD_TWO(at, 1, p);
        if (squares)
            at[2] += p * p;
        return;
    }
    const double w2 = w * w, wp = w * p, w2p = w2 * p;
    ADD_TWO(at, 1, w);
    ADD_TWO(at + 2, wp, w2);
    at[4] += w2p;
    if (squares) {
        ADD_TWO(at + 5, wp * p, w2p * p);
    }
}

#endif
