/* log(x) without a branch or a table, so that plain loops over it become vector instructions of any width.
 *
 * x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). With s = f / (2 + f), log(1 + f) = 2 s + s R(s^2), R the
 * polynomial of least error; and 2 s = f - s f, of which f is exact. log 2 comes in two parts, the first so short that
 * its product with k is exact. */
#ifndef BELIEVABLE_LOGARITHM_H
#define BELIEVABLE_LOGARITHM_H

#include "bits.h"

/* log(x) + more, for x > 0, finite and normal, times 2^shift; `more` is small. */
INLINE double logarithm_of_normal(double x, double more, double shift)
{
    const uint64_t half_root = 0x3fe6a09e667f3bcdu; /* sqrt(1/2) */
    const uint64_t bits = bits_of(x) + (0x3ff0000000000000u - half_root);
    const double k = double_of((bits >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023) + shift;
    const double f = double_of((bits & 0x000fffffffffffffu) + half_root) - 1;
    const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double R = 0.14796689149853284;
    R = R * z + 0.1531398114895399;
    R = R * z + 0.1818356685249062;
    R = R * z + 0.2222219852841661;
    R = R * z + 0.28571428742783006;
    R = R * z + 0.39999999999413105;
    R = R * z + 0.6666666666666735;
    return k * 0.693147180559663 + (f - (half - (s * (half + R * z) + (k * 2.8235290563031577e-13 + more))));
}

/* log(x) to 1 unit in the last place: -infinity of 0, infinity of infinity, NaN of negative numbers and NaN. */
INLINE double logarithm(double x)
{
    const int tiny = x < 2.2250738585072014e-308;
    const double result = logarithm_of_normal(tiny ? x * 18014398509481984.0 : x, 0, tiny ? -54 : 0);
    return x > 0 ? (x <= 1.7976931348623157e308 ? result : x) : x == 0 ? -INFINITY : NAN;
}

/* log(1 - p) to 1 unit in the last place, for p in [-1, 1]: 1 - p is rounded, and its rounding error is added back. NaN
 * for p above 1 and for NaN. */
INLINE double logarithm_of_rest(double p)
{
    const double rest = 1 - p, lost = (1 - rest) - p;
    const double result = logarithm_of_normal(rest, lost / rest, 0);
    return p < 1 ? result : p == 1 ? -INFINITY : NAN;
}

#endif
