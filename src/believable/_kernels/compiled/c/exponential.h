/* exp(x) without a branch or a table, so that plain loops over it become vector instructions of any width.
 *
 * x = n log 2 + r with n whole and |r| <= log(2) / 2. Then exp(r) = 1 + r + r^2 q(r), with q the polynomial of least
 * relative error, and n is added to its exponent. log 2 comes in two parts, the first so short that its product with
 * n is exact. Products may be fused with sums or not. */
#ifndef BELIEVABLE_EXPONENTIAL_H
#define BELIEVABLE_EXPONENTIAL_H

#include "bits.h"

#define WHOLE 6755399441055744.0 /* 1.5 x 2^52: added to a number, its last bits hold the nearest whole number */
#define WHOLE_FLOAT 12582912.0f  /* 1.5 x 2^23 */

/* exp of what is left of x, |x| <= 746, after n log 2 was taken off; n is in the last bits of *turns. */
INLINE double exponential_rest(double x, double *turns)
{
    *turns = x * 1.4426950408889634 + WHOLE;
    const double n = *turns - WHOLE;
    const double r = (x - n * 0.693147180559663) - n * 2.8235290563031577e-13;
    double q = 2.5000019560537124e-08;
    q = q * r + 2.7630305929407055e-07;
    q = q * r + 2.7557586800166696e-06;
    q = q * r + 2.480149295061825e-05;
    q = q * r + 0.0001984126950578008;
    q = q * r + 0.0013888888943758909;
    q = q * r + 0.008333333333494973;
    q = q * r + 0.04166666666652973;
    q = q * r + 0.1666666666666641;
    q = q * r + 0.5000000000000011;
    return 1 + (r + r * r * q);
}

/* exp(x) to 1 unit in the last place, for x in [-708, 709] alone. */
INLINE double exponential_within(double x)
{
    double turns;
    const double rest = exponential_rest(x, &turns);
    return double_of(bits_of(rest) + (bits_of(turns) << 52));
}

/* exp(x) for any x: 0 and infinity beyond the ends, denormal results correctly rounded or next to it, NaN of NaN. */
INLINE double exponential(double x)
{
    double turns;
    x = x < -746 ? -746 : x;
    x = x > 710 ? 710 : x;
    const double rest = exponential_rest(x, &turns);
    /* 2^n in two factors, as n may be beyond the exponents of normal numbers. */
    const double half = (turns - WHOLE) * 0.5 + WHOLE, other = (turns - WHOLE) - (half - WHOLE) + WHOLE;
    const uint64_t one = 0x3ff0000000000000u;
    return rest * double_of((bits_of(half) << 52) + one) * double_of((bits_of(other) << 52) + one);
}

/* 2^y to 2e-14 of itself, for y in [-1022, 1023] alone: half as dear as exp, for sums of many. */
INLINE double power_of_two_within(double y)
{
    const double turns = y + WHOLE, f = y - (turns - WHOLE);
    double p = 1.0148310062904464e-07;
    p = p * f + 1.325837805796269e-06;
    p = p * f + 1.5252990531258679e-05;
    p = p * f + 0.00015403440706420507;
    p = p * f + 0.001333355762390426;
    p = p * f + 0.009618129181383111;
    p = p * f + 0.05550410866843012;
    p = p * f + 0.24022650695722075;
    p = p * f + 0.6931471805598849;
    p = p * f + 1;
    return double_of(bits_of(p) + (bits_of(turns) << 52));
}

/* 2^y to 2e-7 of itself, for y in [-126, 127] alone. */
INLINE float power_of_two_float_within(float y)
{
    const float turns = y + WHOLE_FLOAT, f = y - (turns - WHOLE_FLOAT);
    float p = 0.0013264661f;
    p = p * f + 0.009671566f;
    p = p * f + 0.055507343f;
    p = p * f + 0.24022241f;
    p = p * f + 0.693147f;
    p = p * f + 1;
    return float_of(bits_of_float(p) + (bits_of_float(turns) << 23));
}

/* exp(x) to 1 unit in the last place of a float, for x in [-87, 88] alone. */
INLINE float exponential_float_within(float x)
{
    const float turns = x * 1.44269504f + WHOLE_FLOAT, n = turns - WHOLE_FLOAT;
    const float r = (x - n * 0.693145752f) - n * 1.42860682e-06f;
    float q = 0.0013814543f;
    q = q * r + 0.008368745f;
    q = q * r + 0.04166839f;
    q = q * r + 0.16666521f;
    q = q * r + 0.49999994f;
    return float_of(bits_of_float(1 + (r + r * r * q)) + (bits_of_float(turns) << 23));
}

#endif
