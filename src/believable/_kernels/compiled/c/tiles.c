/* Sums over all pairs of rows with a kernel on probability vectors, tile by tile: never n x n numbers at a time. */
#include "exponential.h"

#define SIDE 64   /* rows of a tile; a multiple of LANES */
#define CHUNK 64  /* classes at a time, so that their source stays in the cache; a multiple of 4 */
#define LANES 8   /* sums that alternate along a row */
#define SMALL 24  /* pairs of blocks of no more rows are processed one by one */

enum { TV, GAUSSIAN }; /* sums of absolute differences, or of their squares */

typedef struct {
    const double *points, *residuals; /* (n, width); residuals already carry their weight */
    Py_ssize_t width;
    int kind, diagonal;
    double scale; /* the kernel is exp(-scale * sum) */
} Pairs;

/* One tile, and the columns it is made of: (SIDE, SIDE), and (CHUNK, SIDE). */
typedef struct {
    double apart[SIDE * SIDE], product[SIDE * SIDE], y[CHUNK * SIDE], r[CHUNK * SIDE];
} Room;

static Py_ssize_t smaller(Py_ssize_t a, Py_ssize_t b)
{
    return a < b ? a : b;
}

static Py_ssize_t rounded_up(Py_ssize_t n, Py_ssize_t step)
{
    return (n + step - 1) / step * step;
}

/* Some columns of `count` rows side by side, with zeros up to a multiple of 4 columns and of LANES rows. */
static void turn(const double *rows, Py_ssize_t width, Py_ssize_t count, Py_ssize_t first, Py_ssize_t chunk,
                 double *out)
{
    const Py_ssize_t padded = rounded_up(count, LANES), all = rounded_up(chunk, 4);
    for (Py_ssize_t j = 0; j < padded; j++)
        for (Py_ssize_t k = 0; k < all; k++)
            out[k * SIDE + j] = j < count && k < chunk ? rows[j * width + first + k] : 0;
}

INLINE double one_apart(double x, double y, int kind)
{
    const double difference = x - y;
    return kind == TV ? fabs(difference) : difference * difference;
}

/* Four columns more, for two rows of a tile. */
INLINE void four_apart(double *restrict one, double *restrict two, const double *restrict y, const double *x,
                       const double *z, Py_ssize_t n, int kind)
{
    const double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    for (Py_ssize_t j = 0; j < n; j++) {
        const double y0 = y[j], y1 = y[j + SIDE], y2 = y[j + 2 * SIDE], y3 = y[j + 3 * SIDE];
        one[j] += (one_apart(x0, y0, kind) + one_apart(x1, y1, kind)) +
                  (one_apart(x2, y2, kind) + one_apart(x3, y3, kind));
        two[j] += (one_apart(z0, y0, kind) + one_apart(z1, y1, kind)) +
                  (one_apart(z2, y2, kind) + one_apart(z3, y3, kind));
    }
}

INLINE void four_products(double *restrict one, double *restrict two, const double *restrict y, const double *x,
                          const double *z, Py_ssize_t n)
{
    const double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    for (Py_ssize_t j = 0; j < n; j++) {
        const double y0 = y[j], y1 = y[j + SIDE], y2 = y[j + 2 * SIDE], y3 = y[j + 3 * SIDE];
        one[j] += (x0 * y0 + x1 * y1) + (x2 * y2 + x3 * y3);
        two[j] += (z0 * y0 + z1 * y1) + (z2 * y2 + z3 * y3);
    }
}

/* Up to four entries of a row, zeros after them. */
INLINE void four_of(const double *row, Py_ssize_t left, double *out)
{
    for (Py_ssize_t k = 0; k < 4; k++)
        out[k] = k < left ? row[k] : 0;
}

INLINE void add_columns(const double *x, const double *y, Py_ssize_t width, Py_ssize_t first, Py_ssize_t chunk,
                        Py_ssize_t rows, Py_ssize_t columns, double *into, int kind, int products)
{
    for (Py_ssize_t i = 0; i < rows; i += 2) {
        /* An odd last row is processed twice, the second time into a row that is never read. */
        const double *one = x + i * width + first, *two = i + 1 < rows ? one + width : one;
        for (Py_ssize_t k = 0; k < chunk; k += 4) {
            double a[4], b[4];
            four_of(one + k, chunk - k, a);
            four_of(two + k, chunk - k, b);
            if (products)
                four_products(into + i * SIDE, into + (i + 1) * SIDE, y + k * SIDE, a, b, columns);
            else
                four_apart(into + i * SIDE, into + (i + 1) * SIDE, y + k * SIDE, a, b, columns, kind);
        }
    }
}

/* Sums of differences of rows x with columns y, and of products of u with v unless those are NULL. */
WIDER static void fill(const double *x, const double *u, Py_ssize_t rows, const double *y, const double *v,
                       Py_ssize_t count, Py_ssize_t width, int kind, Room *room)
{
    const Py_ssize_t columns = rounded_up(count, LANES);
    memset(room->apart, 0, sizeof room->apart);
    memset(room->product, 0, sizeof room->product);
    for (Py_ssize_t first = 0; first < width; first += CHUNK) {
        const Py_ssize_t chunk = smaller(CHUNK, width - first);
        turn(y, width, count, first, chunk, room->y);
        if (kind == TV)
            add_columns(x, room->y, width, first, chunk, rows, columns, room->apart, TV, 0);
        else
            add_columns(x, room->y, width, first, chunk, rows, columns, room->apart, GAUSSIAN, 0);
        if (v != NULL) {
            turn(v, width, count, first, chunk, room->r);
            add_columns(u, room->r, width, first, chunk, rows, columns, room->product, TV, 1);
        }
    }
}

/* Returns exp(-scale apart), and 0 where that is below the normal numbers. */
INLINE double kernel(double apart, double scale)
{
    const double x = -scale * apart;
    return x < -708 ? 0 : exponential_within(x < -708 ? -708 : x);
}

/* h = kernel x product, row by row: adds its sums over rows and columns, and returns that of squares. Columns beyond
 * the last are zeros. A row's pair with itself can be left out. */
WIDER static double add_up(Room *room, Py_ssize_t rows, Py_ssize_t columns, double scale, int without_own,
                           double *by_row, double *by_column)
{
    double down[SIDE] = {0}, squares[SIDE] = {0}, all = 0;
    const Py_ssize_t padded = rounded_up(columns, LANES);
    for (Py_ssize_t i = 0; i < rows; i++) {
        const double *apart = room->apart + i * SIDE;
        double *restrict h = room->product + i * SIDE, along[LANES] = {0};
        if (without_own)
            h[i] = 0;
        for (Py_ssize_t j = 0; j < padded; j++) {
            h[j] *= kernel(apart[j], scale);
            down[j] += h[j];
            squares[j] += h[j] * h[j];
        }
        for (Py_ssize_t j = 0; j < padded; j += LANES)
            for (Py_ssize_t lane = 0; lane < LANES; lane++)
                along[lane] += h[j + lane];
        by_row[i] += ((along[0] + along[1]) + (along[2] + along[3])) + ((along[4] + along[5]) + (along[6] + along[7]));
    }
    for (Py_ssize_t j = 0; j < columns; j++) {
        all += squares[j];
        if (by_column != NULL)
            by_column[j] += down[j];
    }
    return all;
}

/* The tile of rows from a on with rows from b on; its sums go to both. */
static double tile(const Pairs *pairs, Py_ssize_t a, Py_ssize_t n_a, Py_ssize_t b, Py_ssize_t n_b, double *sums,
                   Room *room)
{
    const double *p = pairs->points, *r = pairs->residuals;
    const Py_ssize_t width = pairs->width;
    fill(p + a * width, r + a * width, n_a, p + b * width, r + b * width, n_b, width, pairs->kind, room);
    const int own = a == b;
    return (own ? 1 : 2) *
           add_up(room, n_a, n_b, pairs->scale, own && !pairs->diagonal, sums + a, own ? NULL : sums + b);
}

/* The tiles of every strips-th range of rows, there and back: all strips have about as many. */
static double strip_of(const Pairs *pairs, Py_ssize_t n, Py_ssize_t strip, Py_ssize_t strips, double *sums, Room *room)
{
    double squares = 0;
    for (Py_ssize_t range = 0; range * SIDE < n; range++) {
        const Py_ssize_t turn_of = range % (2 * strips), a = range * SIDE;
        if (strip != (turn_of < strips ? turn_of : 2 * strips - 1 - turn_of))
            continue;
        double here = 0;
        for (Py_ssize_t b = a; b < n; b += SIDE)
            here += tile(pairs, a, smaller(SIDE, n - a), b, smaller(SIDE, n - b), sums, room);
        squares += here;
    }
    return squares;
}

/* Returns the sum of h over the pairs i < j of a few rows. */
static double few_pairs(const Pairs *pairs, Py_ssize_t n)
{
    double total = 0;
    const Py_ssize_t width = pairs->width;
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t j = i + 1; j < n; j++) {
            const double *x = pairs->points + i * width, *y = pairs->points + j * width;
            const double *u = pairs->residuals + i * width, *v = pairs->residuals + j * width;
            double apart[2] = {0}, product[2] = {0};
            for (Py_ssize_t k = 0; k < width; k++) {
                apart[k & 1] += one_apart(x[k], y[k], pairs->kind);
                product[k & 1] += u[k] * v[k];
            }
            total += kernel(apart[0] + apart[1], pairs->scale) * (product[0] + product[1]);
        }
    return total;
}

/* The sum of w_i w_j h over pairs i != j of `size` rows from the first on; sums has room for size x (width + 1). */
static double block_sum(const Pairs *all, const double *weights, Py_ssize_t first, Py_ssize_t size, double *sums,
                        Room *room)
{
    const Py_ssize_t width = all->width;
    double *const weighted = sums + size;
    double total = 0;
    for (Py_ssize_t i = 0; i < size; i++)
        for (Py_ssize_t k = 0; k < width; k++)
            weighted[i * width + k] = weights[first + i] * all->residuals[(first + i) * width + k];
    const Pairs pairs = {all->points + first * width, weighted, width, all->kind, 0, all->scale};
    if (size <= SMALL)
        return 2 * few_pairs(&pairs, size);
    memset(sums, 0, (size_t)size * sizeof(double));
    strip_of(&pairs, size, 0, 1, sums, room);
    for (Py_ssize_t i = 0; i < size; i++)
        total += sums[i];
    return total;
}

/* skce_strip(points, residuals, sums, scale, kind, width, diagonal, strip, strips): adds to sums those of h over the
 * rows, for the tiles of one strip, and returns that of its squares. */
static PyObject *skce_strip(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", NULL};
    Array a[3];
    Py_ssize_t at[5];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 4, 5, at);
    const double scale = given ? PyFloat_AsDouble(args[3]) : 0;
    const Py_ssize_t width = at[1], n = a[2].size;
    const Pairs pairs = {a[0].data, a[1].data, width, at[0] == TV ? TV : GAUSSIAN, at[2] != 0, scale};
    PyObject *result = NULL;
    Room *room = NULL;
    if (!given || PyErr_Occurred() || width < 1 || a[0].size != a[1].size || a[0].size / width != n ||
        a[0].size % width != 0 || at[3] < 0 || at[3] >= at[4] || at[4] > 1024) {
        unfit("skce_strip");
    } else if ((room = malloc(sizeof *room)) == NULL) {
        PyErr_NoMemory();
    } else {
        double squares;
        Py_BEGIN_ALLOW_THREADS;
        squares = strip_of(&pairs, n, at[3], at[4], a[2].data, room);
        Py_END_ALLOW_THREADS;
        result = PyFloat_FromDouble(squares);
    }
    free(room);
    drop_arrays(a, 3);
    return result;
}

/* skce_blocks(points, residuals, weights, totals, scale, kind, width, size, start, stop): the sum of w_i w_j h over
 * pairs i != j of each block of `size` rows, from block start to block stop. */
static PyObject *skce_blocks(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "d", ">d", NULL};
    Array a[4];
    Py_ssize_t at[5];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 5, 5, at);
    const double scale = given ? PyFloat_AsDouble(args[4]) : 0;
    const Py_ssize_t width = at[1], size = at[2], n = a[2].size, n_blocks = a[3].size;
    Room *room = NULL;
    double *sums = NULL;
    if (!given || PyErr_Occurred() || width < 1 || size < 1 || a[0].size != a[1].size || a[0].size / width != n ||
        a[0].size % width != 0 || n_blocks > n / size || !is_within(at + 3, n_blocks)) {
        unfit("skce_blocks");
    } else if (n_blocks > 0 && ((room = malloc(sizeof *room)) == NULL ||
                                (sums = room_for(size, ((size_t)width + 1) * sizeof(double))) == NULL)) {
        PyErr_NoMemory();
    } else {
        const Pairs pairs = {a[0].data, a[1].data, width, at[0] == TV ? TV : GAUSSIAN, 0, scale};
        const double *const weights = a[2].data;
        double *const totals = a[3].data;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t block = at[3]; block < at[4]; block++)
            totals[block] = block_sum(&pairs, weights, block * size, size, sums, room);
        Py_END_ALLOW_THREADS;
    }
    free(room);
    free(sums);
    drop_arrays(a, 4);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* row_distances(x, y, out, kind, width, start, stop): sums of absolute or squared differences of the rows of x, from
 * start to stop, with all rows of y. */
static PyObject *row_distances(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", ">d", NULL};
    Array a[3];
    Py_ssize_t at[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 3, 4, at) && at[1] > 0;
    const Py_ssize_t width = given ? at[1] : 1, n_x = a[0].size / width, n_y = a[1].size / width;
    Room *room = NULL;
    if (!given || n_x * width != a[0].size || n_y * width != a[1].size || !is_within(at + 2, n_x) ||
        (n_y > 0 && (a[2].size % n_y != 0 || a[2].size / n_y != n_x))) {
        unfit("row_distances");
    } else if ((room = malloc(sizeof *room)) == NULL) {
        PyErr_NoMemory();
    } else {
        const double *const x = a[0].data, *const y = a[1].data;
        double *const out = a[2].data;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t i = at[2]; i < at[3]; i += SIDE)
            for (Py_ssize_t j = 0; j < n_y; j += SIDE) {
                const Py_ssize_t rows = smaller(SIDE, at[3] - i), columns = smaller(SIDE, n_y - j);
                fill(x + i * width, NULL, rows, y + j * width, NULL, columns, width, at[0] == TV ? TV : GAUSSIAN, room);
                for (Py_ssize_t k = 0; k < rows; k++)
                    memcpy(out + (i + k) * n_y + j, room->apart + k * SIDE, (size_t)columns * sizeof(double));
            }
        Py_END_ALLOW_THREADS;
    }
    free(room);
    drop_arrays(a, 3);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

PyMethodDef tiles_methods[] = {
    METHOD(skce_strip),
    METHOD(skce_blocks),
    METHOD(row_distances),
    NO_MORE_METHODS,
};
