// The random numbers that Python's audit draws, bit for bit: NumPy's `default_rng` (SeedSequence and PCG64) with
// `permutation`, `choice` without replacement and `integers`, and the older `RandomState` (MT19937) with its shuffle.
//
// The 128 bits of PCG64 are kept as eight numbers of 16 bits, whose products and their sums are exact in floats.
const Random = (() => {
  "use strict";

  const TWO_32 = 4294967296;
  const POOL_SIZE = 4; // of SeedSequence

  // --- SeedSequence --------------------------------------------------------------------------------------------------

  function words(seed) {
    if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`a seed must be an integer from 0, got ${seed}`);
    const found = [seed % TWO_32];
    for (let rest = Math.floor(seed / TWO_32); rest > 0; rest = Math.floor(rest / TWO_32)) found.push(rest % TWO_32);
    return found;
  }

  // The first `n` 32-bit words of the state that NumPy derives from a seed and the keys of a child.
  function seedState(seed, keys, n) {
    const entropy = words(seed);
    while (keys.length > 0 && entropy.length < POOL_SIZE) entropy.push(0);
    entropy.push(...keys);

    let constant = 0x43b0d7e5;
    function hashed(value) {
      const mixed = value ^ constant;
      constant = Math.imul(constant, 0x931e8875);
      const product = Math.imul(mixed, constant);
      return product ^ (product >>> 16);
    }
    function mixed(x, y) {
      const both = Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715) | 0;
      return both ^ (both >>> 16);
    }
    const pool = Array.from({ length: POOL_SIZE }, (_, i) => hashed(i < entropy.length ? entropy[i] : 0));
    for (let from = 0; from < POOL_SIZE; from++) {
      for (let to = 0; to < POOL_SIZE; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]));
    }
    for (let from = POOL_SIZE; from < entropy.length; from++) {
      for (let to = 0; to < POOL_SIZE; to++) pool[to] = mixed(pool[to], hashed(entropy[from]));
    }

    constant = 0x8b51f9dd;
    return Array.from({ length: n }, (_, i) => {
      const value = pool[i % POOL_SIZE] ^ constant;
      constant = Math.imul(constant, 0x58f38ded);
      const product = Math.imul(value, constant);
      return (product ^ (product >>> 16)) >>> 0;
    });
  }

  // --- PCG64 ---------------------------------------------------------------------------------------------------------

  const MULTIPLIER = [0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360]; // lowest 16 bits first

  function numbers(n) {
    const found = new Int32Array(n);
    for (let i = 0; i < n; i++) found[i] = i;
    return found;
  }

  // An integer from 0 to `most`: bits are drawn until they are small enough.
  function masked(uint32, most) {
    const mask = 0xffffffff >>> Math.clz32(most);
    for (;;) {
      const found = (uint32() & mask) >>> 0;
      if (found <= most) return found;
    }
  }

  const inSixteens = (...from) => from.flatMap((word) => [word & 0xffff, word >>> 16]);

  // The upper and lower half of the product of two numbers below 2^32.
  function product(a, b) {
    const low = (a & 0xffff) * b;
    const all = (a >>> 16) * b + Math.floor(low / 65536);
    return [Math.floor(all / 65536), (all % 65536) * 65536 + (low % 65536)];
  }

  // The generator `np.random.default_rng(np.random.SeedSequence(seed, spawn_key=keys))`.
  function generator(seed, keys = []) {
    const w = seedState(seed, keys, 8);
    const start = inSixteens(w[2], w[3], w[0], w[1]);
    const increment = inSixteens(w[6], w[7], w[4], w[5]);
    for (let i = 7, carry = 1; i >= 0; i--) { // doubled, plus one
      const next = i > 0 ? increment[i - 1] >>> 15 : carry;
      increment[i] = ((increment[i] << 1) | next) & 0xffff;
    }
    const state = new Float64Array(8);
    let high = 0; // the last 64 bits drawn
    let low = 0;
    let spare = -1; // the upper half of 64 bits whose lower half was used

    const [m0, m1, m2, m3, m4, m5, m6, m7] = MULTIPLIER;
    const [i0, i1, i2, i3, i4, i5, i6, i7] = increment;
    function step() {
      const s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];
      const s4 = state[4], s5 = state[5], s6 = state[6], s7 = state[7];
      let sum = s0 * m0 + i0;
      let carry = Math.floor(sum / 65536);
      state[0] = sum - carry * 65536;
      sum = s0 * m1 + s1 * m0 + i1 + carry;
      carry = Math.floor(sum / 65536);
      state[1] = sum - carry * 65536;
      sum = s0 * m2 + s1 * m1 + s2 * m0 + i2 + carry;
      carry = Math.floor(sum / 65536);
      state[2] = sum - carry * 65536;
      sum = s0 * m3 + s1 * m2 + s2 * m1 + s3 * m0 + i3 + carry;
      carry = Math.floor(sum / 65536);
      state[3] = sum - carry * 65536;
      sum = s0 * m4 + s1 * m3 + s2 * m2 + s3 * m1 + s4 * m0 + i4 + carry;
      carry = Math.floor(sum / 65536);
      state[4] = sum - carry * 65536;
      sum = s0 * m5 + s1 * m4 + s2 * m3 + s3 * m2 + s4 * m1 + s5 * m0 + i5 + carry;
      carry = Math.floor(sum / 65536);
      state[5] = sum - carry * 65536;
      sum = s0 * m6 + s1 * m5 + s2 * m4 + s3 * m3 + s4 * m2 + s5 * m1 + s6 * m0 + i6 + carry;
      carry = Math.floor(sum / 65536);
      state[6] = sum - carry * 65536;
      sum = s0 * m7 + s1 * m6 + s2 * m5 + s3 * m4 + s4 * m3 + s5 * m2 + s6 * m1 + s7 * m0 + i7 + carry;
      state[7] = sum % 65536;
    }

    step();
    for (let i = 0, carry = 0; i < 8; i++) {
      const sum = state[i] + start[i] + carry;
      carry = sum >= 65536 ? 1 : 0;
      state[i] = sum - carry * 65536;
    }
    step();

    // Draw 64 bits into `high` and `low`: the halves of the state, combined and rotated to the right.
    function draw() {
      step();
      const a = ((state[7] * 65536 + state[6]) ^ (state[3] * 65536 + state[2])) >>> 0;
      const b = ((state[5] * 65536 + state[4]) ^ (state[1] * 65536 + state[0])) >>> 0;
      const by = state[7] >>> 10;
      const turn = by & 31;
      const upper = by < 32 ? a : b;
      const lower = by < 32 ? b : a;
      high = (turn === 0 ? upper : (upper >>> turn) | (lower << (32 - turn))) >>> 0;
      low = (turn === 0 ? lower : (lower >>> turn) | (upper << (32 - turn))) >>> 0;
    }

    function uint32() {
      if (spare >= 0) {
        const half = spare;
        spare = -1;
        return half;
      }
      draw();
      spare = high;
      return low;
    }

    // A float in [0, 1).
    function random() {
      draw();
      return (high * 2097152 + (low >>> 11)) / 9007199254740992;
    }

    // An integer from 0 to `most`, which is below 2^32 (Lemire's method).
    function upTo(most) {
      if (most === 0) return 0;
      const n = most + 1;
      if (n === TWO_32) return uint32();
      let [found, rest] = product(uint32(), n);
      if (rest < n) {
        const threshold = (TWO_32 - n) % n;
        while (rest < threshold) [found, rest] = product(uint32(), n);
      }
      return found;
    }

    function swapped(array, first, draw) {
      for (let i = array.length - 1; i >= first; i--) {
        const j = draw(i);
        const kept = array[i];
        array[i] = array[j];
        array[j] = kept;
      }
      return array;
    }

    // NumPy draws the places of a shuffle by masks, and those of `choice` by Lemire's method.
    const shuffle = (array) => swapped(array, 1, (i) => masked(uint32, i));
    const permutation = (n) => shuffle(numbers(n));

    // `size` different numbers below n, in random order.
    function choice(n, size) {
      if (n > 10000 && size > Math.floor(n / 50)) return swapped(numbers(n), Math.max(n - size, 1), upTo).slice(n - size);
      const taken = new Set();
      const found = new Int32Array(size);
      for (let j = n - size; j < n; j++) { // Floyd's method
        const drawn = upTo(j);
        const kept = taken.has(drawn) ? j : drawn;
        taken.add(kept);
        found[j - n + size] = kept;
      }
      return swapped(found, 1, upTo);
    }

    return { uint32, random, upTo, integer: (n) => upTo(n - 1), shuffle, permutation, choice };
  }

  // The generator of this package for a seed: a stream of its own, apart from data simulated with the same seed.
  const seeded = (seed) => generator(seed, [1]);

  // --- MT19937 -------------------------------------------------------------------------------------------------------

  // `np.random.RandomState(seed)`, of which only the shuffle is used.
  function randomState(seed) {
    const key = new Uint32Array(624);
    key[0] = seed;
    for (let i = 1; i < 624; i++) key[i] = Math.imul(1812433253, key[i - 1] ^ (key[i - 1] >>> 30)) + i;
    let at = 624;
    function uint32() {
      if (at === 624) {
        for (let i = 0; i < 624; i++) {
          const y = (key[i] & 0x80000000) | (key[(i + 1) % 624] & 0x7fffffff);
          key[i] = key[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
        }
        at = 0;
      }
      let y = key[at++];
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      return (y ^ (y >>> 18)) >>> 0;
    }
    function shuffle(array) {
      for (let i = array.length - 1; i > 0; i--) {
        const j = masked(uint32, i);
        const kept = array[i];
        array[i] = array[j];
        array[j] = kept;
      }
      return array;
    }
    return { uint32, shuffle };
  }

  return { generator, seeded, randomState };
})();

if (typeof module !== "undefined") module.exports = Random;
