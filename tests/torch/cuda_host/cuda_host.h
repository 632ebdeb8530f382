// The few words of CUDA C++ that our kernels use, in C++ for the host: the text of a kernel, compiled behind this header,
// runs on a CPU, one block after the other. It is for correctness on small arrays, not for speed.
//
// The threads of a block are fibres of one thread of the system: each runs until it waits for its block or its warp, then
// the next one does. So additions need not be atomic, and `thread_local` memory is what a block shares. A block whose
// threads wait for each other in vain (a barrier that some of them never reach) is an error, and so is a write behind
// the shared memory that was asked for. Fibres take their turns upwards or downwards: a missing barrier that one order
// hides shows in the other.

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __shared__ thread_local
#define __align__(bytes) alignas(bytes)

struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static struct { unsigned x, y, z; } threadIdx, blockIdx, gridDim, blockDim;

// --- fibres ----------------------------------------------------------------------------------------------------------

#define MOST_THREADS 1024
#define STACK_BYTES (128 << 10)
#define SHARED_BYTES (64 << 10)
#define UNTOUCHED 0xa5  // shared memory before a block writes it, and behind what the block may have

enum LaunchError { DONE, DEADLOCK, SHARED_MEMORY_OVERRUN };

thread_local uint4 memory[SHARED_BYTES / sizeof(uint4)];  // what `extern __shared__ uint4 memory[]` names

struct Barrier {
  int waiting = 0;
  unsigned round = 0;
};

struct Fibre {
  ucontext_t entry;  // for the first turn; later ones are jumps, which do not ask the system
  jmp_buf place;
  char* stack = nullptr;
  bool started = false, done = false;
  Barrier* at = nullptr;  // the barrier it waits for, and in which round
  unsigned round = 0;
};

static Fibre fibres[MOST_THREADS];
static Barrier of_block, of_warps[MOST_THREADS / 32];
static uint64_t exchanged[2][MOST_THREADS];  // what lanes show each other; two, so that the next is not too early
static unsigned exchanges[MOST_THREADS];
static jmp_buf scheduler;
static unsigned running;

static void wait_at(Barrier& barrier, int members) {
  Fibre& own = fibres[running];
  if (++barrier.waiting == members) {
    barrier.waiting = 0;
    barrier.round++;
    return;
  }
  own.at = &barrier, own.round = barrier.round;
  if (!_setjmp(own.place)) _longjmp(scheduler, 1);
}

inline void __syncthreads() { wait_at(of_block, blockDim.x); }

// Puts a value where the lanes of its warp can see it, and waits for theirs; returns where they are.
template <class T>
static const uint64_t* exchange(T x) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "lanes exchange at most 64 bits");
  uint64_t* shown = exchanged[exchanges[running]++ % 2];
  memcpy(shown + running, &x, sizeof x);
  wait_at(of_warps[running / 32], 32);
  return shown + running / 32 * 32;
}

template <class T>
inline T __shfl_xor_sync(unsigned, T x, int lanes) {
  const uint64_t* shown = exchange(x);
  T other;
  memcpy(&other, shown + ((threadIdx.x % 32) ^ lanes), sizeof other);
  return other;
}

template <class T>
inline T __shfl_sync(unsigned, T x, int lane) {
  const uint64_t* shown = exchange(x);
  T other;
  memcpy(&other, shown + lane, sizeof other);
  return other;
}

inline int __any_sync(unsigned, int predicate) {
  const uint64_t* shown = exchange((uint64_t)(predicate != 0));
  for (int lane = 0; lane < 32; lane++)
    if (shown[lane]) return 1;
  return 0;
}

template <class T>
inline T atomicAdd(T* to, T x) {
  T before = *to;
  *to += x;
  return before;
}

template <class T>
inline T atomicExch(T* to, T x) {
  T before = *to;
  *to = x;
  return before;
}

// --- numbers ---------------------------------------------------------------------------------------------------------

template <class To, class From>
static To same_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits are kept, so sizes must be the same");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

inline int __float_as_int(float x) { return same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline float __frcp_rn(float x) { return 1.f / x; }
inline float __expf(float x) { return expf(x); }
inline float __log2f(float x) { return log2f(x); }

// a * b + c rounded up. In double the product is exact; the sum is a rounded one and what was rounded away.
inline float __fmaf_ru(float a, float b, float c) {
  double product = (double)a * b, sum = product + c, of_c = sum - product;
  double away = (product - (sum - of_c)) + (c - of_c);
  float nearest = (float)sum;
  return nearest < sum || (nearest == sum && away > 0) ? nextafterf(nearest, INFINITY) : nearest;
}

// --- instructions in assembler, by their names with `_` for `.`; operands in the order in which the text has them --------

static char* shared_anchor() { return (char*)memory; }
static char* shared_place(unsigned address) { return shared_anchor() + (int)address; }
inline size_t __cvta_generic_to_shared(const void* place) { return (size_t)((const char*)place - shared_anchor()); }

inline void mov_u32(unsigned&) {}
inline void ex2_approx_f32(float& y, float x) { y = exp2f(x); }
inline void lg2_approx_ftz_f32(float& y, float x) { y = log2f(fabsf(x) < 1.17549435e-38f ? 0.f : x); }
inline void ld_shared_f32(float& x, unsigned from) { memcpy(&x, shared_place(from), 4); }
inline void ld_shared_f64(double& x, unsigned from) { memcpy(&x, shared_place(from), 8); }

inline void ld_shared_v2_f32(float& a, float& b, unsigned from) {
  memcpy(&a, shared_place(from), 4), memcpy(&b, shared_place(from) + 4, 4);
}

inline void st_shared_v2_f32(unsigned to, float a, float b) {
  memcpy(shared_place(to), &a, 4), memcpy(shared_place(to) + 4, &b, 4);
}

inline void ld_shared_v4_b32(unsigned& a, unsigned& b, float& c, float& d, unsigned from) {
  char* place = shared_place(from);
  memcpy(&a, place, 4), memcpy(&b, place + 4, 4), memcpy(&c, place + 8, 4), memcpy(&d, place + 12, 4);
}

inline void st_shared_v4_b32(unsigned to, unsigned a, unsigned b, float c, float d) {
  char* place = shared_place(to);
  memcpy(place, &a, 4), memcpy(place + 4, &b, 4), memcpy(place + 8, &c, 4), memcpy(place + 12, &d, 4);
}

inline void cvt_f32_f16(float& wide, unsigned short half) {
  unsigned exponent = half >> 10 & 31, fraction = half & 1023;
  float size = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexpf((float)fraction, -24)
                               : ldexpf((float)(1024 + fraction), (int)exponent - 25);
  wide = half >> 15 ? -size : size;
}

// --- launching -------------------------------------------------------------------------------------------------------

static void (*body)(void**);
static void** arguments;

static void fibre_main() {
  body(arguments);
  fibres[running].done = true;
  _longjmp(scheduler, 1);
}

// Lets a fibre run until it waits or ends.
static __attribute__((noinline)) void resume(Fibre& fibre) {
  if (_setjmp(scheduler)) return;
  if (fibre.started) _longjmp(fibre.place, 1);
  fibre.started = true;
  setcontext(&fibre.entry);
}

static int run_block(bool downwards) {
  const unsigned threads = blockDim.x;
  of_block = Barrier();
  for (Barrier& of_warp : of_warps) of_warp = Barrier();
  memset(exchanges, 0, sizeof exchanges);
  for (unsigned i = 0; i < threads; i++) {
    Fibre& fibre = fibres[i];
    if (!fibre.stack) fibre.stack = (char*)malloc(STACK_BYTES);
    fibre.started = fibre.done = false, fibre.at = nullptr;
    getcontext(&fibre.entry);
    fibre.entry.uc_stack.ss_sp = fibre.stack;
    fibre.entry.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fibre.entry, fibre_main, 0);
  }
  for (unsigned left = threads; left;) {
    bool moved = false;
    for (unsigned turn = 0; turn < threads; turn++) {
      running = downwards ? threads - 1 - turn : turn;
      Fibre& fibre = fibres[running];
      if (fibre.done || (fibre.at && fibre.at->round == fibre.round)) continue;
      fibre.at = nullptr;
      threadIdx.x = running;
      resume(fibre);
      moved = true;
      left -= fibre.done;
    }
    if (!moved) return DEADLOCK;
  }
  return DONE;
}

static int run_grid(void (*kernel)(void**), void** args, unsigned blocks, unsigned threads, unsigned shared, bool downwards) {
  body = kernel, arguments = args;
  gridDim = {blocks, 1, 1}, blockDim = {threads, 1, 1};
  for (unsigned turn = 0; turn < blocks; turn++) {
    blockIdx.x = downwards ? blocks - 1 - turn : turn;
    memset(memory, UNTOUCHED, sizeof memory);
    if (int error = run_block(downwards)) return error;
    for (const unsigned char* at = (const unsigned char*)memory + shared; at < (const unsigned char*)memory + sizeof memory; at++)
      if (*at != UNTOUCHED) return SHARED_MEMORY_OVERRUN;
  }
  return DONE;
}

template <int... I> struct Places {};
template <int N, int... I> struct PlacesTo : PlacesTo<N - 1, N - 1, I...> {};
template <int... I> struct PlacesTo<0, I...> { typedef Places<I...> type; };

template <auto kernel, class... A, int... I>
static void call(void (*)(A...), void** args, Places<I...>) { kernel(*(A*)args[I]...); }

template <class... A>
constexpr int count_of(void (*)(A...)) { return sizeof...(A); }

// Unpacks an array of pointers to the arguments of a kernel.
template <auto kernel>
static void unpacked(void** args) { call<kernel>(kernel, args, typename PlacesTo<count_of(kernel)>::type()); }

// Written behind the text of a kernel; arguments are passed by pointers to them.
#define LAUNCHER_OF(kernel)                                                                                            \
  extern "C" int argument_count() { return count_of(kernel); }                                                         \
  extern "C" int launch(unsigned blocks, unsigned threads, unsigned shared, int downwards, void** args) {              \
    return run_grid(unpacked<kernel>, args, blocks, threads, shared, downwards);                                       \
  }
