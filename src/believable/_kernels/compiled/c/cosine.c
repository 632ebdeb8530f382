/* The size of many curves that are sums of damped cosines: eight at a time, side by side, through one transform.
 *
 * A cosine transform of N + 1 numbers is a transform of N real ones, and that one of N / 2 complex ones. Every number
 * here is a row of LANES, one for each curve, so that all loops run along them. */
#include "exponential.h"

#define LANES 8
#define MOST_NODES (1 << 22)
#define WAVES 2.8 /* waves beyond WAVES / s are damped to 1e-17 */
#define PI 3.141592653589793

typedef struct {
    Py_ssize_t nodes;          /* N, a power of two, 16 at least */
    double *cosines, *sines;   /* of pi i / N, i = 0 .. N */
    double *given, *curve;     /* (N + 1, LANES) */
    double *re[2], *im[2];     /* (N / 2, LANES), twice: every pass goes from one to the other */
} Room;

static void free_room(Room *room)
{
    free(room->cosines);
    memset(room, 0, sizeof *room);
}

static int make_room(Room *room, Py_ssize_t nodes)
{
    const size_t n = (size_t)nodes, curve = (n + 1) * LANES, half = n / 2 * LANES;
    room->nodes = nodes;
    if ((room->cosines = malloc((2 * (n + 1) + 2 * curve + 4 * half) * sizeof(double))) == NULL)
        return 0;
    room->sines = room->cosines + n + 1;
    room->given = room->sines + n + 1;
    room->curve = room->given + curve;
    for (int i = 0; i < 2; i++) {
        room->re[i] = room->curve + curve + (size_t)i * 2 * half;
        room->im[i] = room->re[i] + half;
    }
    for (Py_ssize_t i = 0; i <= nodes; i++) {
        room->cosines[i] = cos(PI * (double)i / (double)nodes);
        room->sines[i] = sin(PI * (double)i / (double)nodes);
    }
    return 1;
}

/* w = c + i s, and its powers. */
typedef struct {
    double c1, s1, c2, s2, c3, s3;
} Turns;

/* Turns four numbers into four others, for all lanes of a row. */
INLINE void four(const double *xa, const double *xb, const double *xc, const double *xd, const double *ua,
                 const double *ub, const double *uc, const double *ud, double *restrict y0, double *restrict y1,
                 double *restrict y2, double *restrict y3, double *restrict v0, double *restrict v1,
                 double *restrict v2, double *restrict v3, Py_ssize_t stride, Turns w)
{
    for (Py_ssize_t q = 0; q < stride; q++) {
        const double apc = xa[q] + xc[q], amc = xa[q] - xc[q], bpd = xb[q] + xd[q], bmd = xb[q] - xd[q];
        const double iapc = ua[q] + uc[q], iamc = ua[q] - uc[q], ibpd = ub[q] + ud[q], ibmd = ub[q] - ud[q];
        const double r1 = amc + ibmd, i1 = iamc - bmd, r2 = apc - bpd, i2 = iapc - ibpd;
        const double r3 = amc - ibmd, i3 = iamc + bmd;
        y0[q] = apc + bpd;
        v0[q] = iapc + ibpd;
        y1[q] = w.c1 * r1 - w.s1 * i1;
        v1[q] = w.c1 * i1 + w.s1 * r1;
        y2[q] = w.c2 * r2 - w.s2 * i2;
        v2[q] = w.c2 * i2 + w.s2 * r2;
        y3[q] = w.c3 * r3 - w.s3 * i3;
        v3[q] = w.c3 * i3 + w.s3 * r3;
    }
}

/* One pass of radix 4 over n / 4 groups, whose entries lie `step` apart; (x, u) to (y, v). */
WIDER static void quarter(const double *x, const double *u, double *y, double *v, Py_ssize_t n, Py_ssize_t step,
                          const Room *room)
{
    const Py_ssize_t each = n / 4, row = step * LANES, jump = 2 * room->nodes / n, far = each * row;
    for (Py_ssize_t p = 0; p < each; p++, x += row, u += row, y += 4 * row, v += 4 * row) {
        Turns w = {room->cosines[p * jump], -room->sines[p * jump], room->cosines[2 * p * jump],
                   -room->sines[2 * p * jump], 0, 0};
        w.c3 = w.c1 * w.c2 - w.s1 * w.s2;
        w.s3 = w.c1 * w.s2 + w.s1 * w.c2;
        four(x, x + far, x + 2 * far, x + 3 * far, u, u + far, u + 2 * far, u + 3 * far, y, y + row, y + 2 * row,
             y + 3 * row, v, v + row, v + 2 * row, v + 3 * row, row, w);
    }
}

/* The last pass, if two numbers are left. */
WIDER static void halves(const double *restrict x, double *restrict y, Py_ssize_t row)
{
    for (Py_ssize_t q = 0; q < row; q++) {
        const double one = x[q], two = x[q + row];
        y[q] = one + two;
        y[q + row] = one - two;
    }
}

/* Transforms N / 2 complex numbers; returns which of the two buffers holds the result. */
static int transform(const Room *room)
{
    int at = 0;
    Py_ssize_t n = room->nodes / 2, step = 1;
    for (; n >= 4; n /= 4, step *= 4, at = 1 - at)
        quarter(room->re[at], room->im[at], room->re[1 - at], room->im[1 - at], n, step, room);
    if (n == 2) {
        halves(room->re[at], room->re[1 - at], step * LANES);
        halves(room->im[at], room->im[1 - at], step * LANES);
        at = 1 - at;
    }
    return at;
}

/* Computes from f_0 .. f_(m-1), and zeros up to f_N, the real numbers whose transform holds the cosine sums, in pairs.
 * */
WIDER static void fold(const Room *room, Py_ssize_t m, double *restrict first)
{
    const Py_ssize_t n = room->nodes;
    const double *given = room->given;
    for (Py_ssize_t lane = 0; lane < LANES; lane++)
        first[lane] = 0.5 * (given[lane] - given[n * LANES + lane]);
    for (Py_ssize_t j = 1; j < m && j < n; j++)
        for (Py_ssize_t lane = 0; lane < LANES; lane++)
            first[lane] += given[j * LANES + lane] * room->cosines[j];
    for (Py_ssize_t j = 0; j < n; j++) {
        const double *one = given + j * LANES, *other = given + (n - j) * LANES;
        double *out = (j & 1 ? room->im[0] : room->re[0]) + j / 2 * LANES;
        const double sine = room->sines[j];
        for (Py_ssize_t lane = 0; lane < LANES; lane++)
            out[lane] = 0.5 * (one[lane] + other[lane]) - sine * (one[lane] - other[lane]);
    }
}

/* Computes twice the cosine sums at all nodes: even ones are real parts, odd ones are running sums of the imaginary
 * parts. */
WIDER static void unfold(const Room *room, int at, const double *restrict first)
{
    const Py_ssize_t n = room->nodes, half = n / 2;
    const double *re = room->re[at], *im = room->im[at];
    double *restrict curve = room->curve;
    double odd[LANES];
    for (Py_ssize_t lane = 0; lane < LANES; lane++) {
        odd[lane] = first[lane];
        curve[lane] = 2 * (re[lane] + im[lane]);
        curve[LANES + lane] = 2 * odd[lane];
        curve[n * LANES + lane] = 2 * (re[lane] - im[lane]);
    }
    for (Py_ssize_t k = 1; k < half; k++) {
        const double *zr = re + k * LANES, *zi = im + k * LANES, *yr = re + (half - k) * LANES,
                     *yi = im + (half - k) * LANES;
        const double c = room->cosines[2 * k], s = room->sines[2 * k];
        for (Py_ssize_t lane = 0; lane < LANES; lane++) {
            const double er = 0.5 * (zr[lane] + yr[lane]), ei = 0.5 * (zi[lane] - yi[lane]);
            const double dr = 0.5 * (zi[lane] + yi[lane]), di = -0.5 * (zr[lane] - yr[lane]);
            odd[lane] -= ei + (c * di - s * dr);
            curve[2 * k * LANES + lane] = 2 * (er + (c * dr + s * di));
            curve[(2 * k + 1) * LANES + lane] = 2 * odd[lane];
        }
    }
}

/* Computes the first m of waves x exp(-(pi k s)^2 / 2); the caller has filled the rest with zeros. */
WIDER static void damp(const double *const *waves, const double *s, Py_ssize_t m, double *restrict given)
{
    for (Py_ssize_t k = 0; k < m; k++)
        for (Py_ssize_t lane = 0; lane < LANES; lane++)
            given[k * LANES + lane] = waves[lane][k];
    for (Py_ssize_t k = 0; k < m; k++) {
        const double at = PI * (double)k;
        for (Py_ssize_t lane = 0; lane < LANES; lane++) {
            const double turn = at * s[lane];
            given[k * LANES + lane] *= exponential(-0.5 * (turn * turn));
        }
    }
}

/* Returns what the trapezoid rule misses where a curve changes its sign between j and j + 1: see `_absolute_area`. */
static double missed(const double *curve, Py_ssize_t j, Py_ssize_t last)
{
    const double here = curve[j * LANES], next = curve[(j + 1) * LANES], left = fabs(here), right = fabs(next);
    const double before = curve[(j > 0 ? j - 1 : 1) * LANES], after = curve[(j + 2 <= last ? j + 2 : last - 1) * LANES];
    const double both = left + right, root = left / both;
    const double bend = (here < 0 ? 1 : -1) * (before + after - here - next) / 2;
    return both / 6 - root * right + bend * (root * root / 2 - root * root * root / 3 - 1.0 / 12);
}

WIDER static void areas(const Room *room, double *restrict out)
{
    const Py_ssize_t last = room->nodes;
    const double *curve = room->curve;
    double part[LANES], mends[LANES] = {0};
    for (Py_ssize_t lane = 0; lane < LANES; lane++)
        out[lane] = -0.5 * (fabs(curve[lane]) + fabs(curve[last * LANES + lane]));
    for (Py_ssize_t start = 0; start <= last; start += 256) { /* short chains round less */
        const Py_ssize_t stop = last + 1 - start < 256 ? last + 1 : start + 256;
        memset(part, 0, sizeof part);
        for (Py_ssize_t j = start; j < stop; j++)
            for (Py_ssize_t lane = 0; lane < LANES; lane++)
                part[lane] += fabs(curve[j * LANES + lane]);
        for (Py_ssize_t lane = 0; lane < LANES; lane++)
            out[lane] += part[lane];
    }
    for (Py_ssize_t j = 0; j < last; j++) {
        int64_t changes[LANES], any = 0;
        for (Py_ssize_t lane = 0; lane < LANES; lane++) {
            changes[lane] = (curve[j * LANES + lane] < 0) != (curve[(j + 1) * LANES + lane] < 0);
            any |= changes[lane];
        }
        for (Py_ssize_t lane = 0; any && lane < LANES; lane++)
            if (changes[lane])
                mends[lane] += missed(curve + lane, j, last);
    }
    for (Py_ssize_t lane = 0; lane < LANES; lane++)
        out[lane] = (out[lane] + mends[lane]) / (double)last;
}

static void eight(const double *waves, const double *s, const int64_t *rows, Py_ssize_t count, Py_ssize_t width,
                  Room *room, double *out)
{
    const double *at[LANES];
    double here[LANES], first[LANES], found[LANES], smallest = s[rows[0]];
    for (Py_ssize_t lane = 0; lane < LANES; lane++) { /* lanes left over repeat the last row */
        const int64_t row = rows[lane < count ? lane : count - 1];
        at[lane] = waves + row * width;
        here[lane] = s[row];
        smallest = here[lane] < smallest ? here[lane] : smallest;
    }
    Py_ssize_t m = width < room->nodes ? width : room->nodes;
    if (smallest > 0 && WAVES / smallest + 2 < (double)m)
        m = (Py_ssize_t)(WAVES / smallest) + 2;
    memset(room->given, 0, (size_t)((room->nodes + 1) * LANES) * sizeof(double));
    damp(at, here, m, room->given);
    fold(room, m, first);
    unfold(room, transform(room), first);
    areas(room, found);
    for (Py_ssize_t lane = 0; lane < count; lane++)
        out[rows[lane]] = found[lane];
}

/* smooth_sizes(waves, s, rows, out, width, nodes, start, stop): the size of the curves of some rows, on these nodes. */
static PyObject *smooth_sizes(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "q", ">d", NULL};
    Array a[4];
    Py_ssize_t at[4];
    Room room = {0};
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 4, 4, at);
    const Py_ssize_t width = at[0], nodes = at[1], n = a[1].size;
    const int64_t *rows = a[2].data;
    int fits = given && width > 0 && nodes >= 16 && nodes <= MOST_NODES && (nodes & (nodes - 1)) == 0 &&
               a[0].size / width == n && a[0].size % width == 0 && a[3].size == n && is_within(at + 2, a[2].size);
    for (Py_ssize_t i = at[2]; fits && i < at[3]; i++)
        fits = rows[i] >= 0 && rows[i] < n;
    if (!fits) {
        unfit("smooth_sizes");
    } else if (!make_room(&room, nodes)) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t i = at[2]; i < at[3]; i += LANES)
            eight(a[0].data, a[1].data, rows + i, at[3] - i < LANES ? at[3] - i : LANES, width, &room, a[3].data);
        Py_END_ALLOW_THREADS;
    }
    free_room(&room);
    drop_arrays(a, 4);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef cosine_methods[] = {
    METHOD(smooth_sizes),
    NO_MORE_METHODS,
};
