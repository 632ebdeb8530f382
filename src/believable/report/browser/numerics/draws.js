// Random numbers as NumPy's `default_rng(seed)` draws them (PCG64), so that what is drawn here equals what Python draws.
// Binomial numbers follow Kachitvichyanukul and Schmeiser (1988), normal ones the ziggurat of Marsaglia and Tsang (2000).
const Draws = (() => {
  "use strict";

  const TWO_32 = 4294967296;
  const MULTIPLIER = [0x9fccf645, 0x4385df64, 0x1fc65da4, 0x2360ed05]; // of PCG64, the lowest 32 bits first
  const M_LOW = MULTIPLIER.map((m) => m & 0xffff);
  const M_HIGH = MULTIPLIER.map((m) => m >>> 16);

  // The four 64-bit numbers that a seed gives, as pairs [low, high] of 32 bits (NumPy's SeedSequence).
  function seedState(seed, spawned) {
    const entropy = [];
    let rest = BigInt(seed);
    do {
      entropy.push(Number(rest & 0xffffffffn));
      rest >>= 32n;
    } while (rest > 0n);
    if (spawned.length) {
      while (entropy.length < 4) entropy.push(0);
      entropy.push(...spawned);
    }
    let hash = 0x43b0d7e5;
    const hashed = (value) => {
      value = (value ^ hash) >>> 0;
      hash = Math.imul(hash, 0x931e8875) >>> 0;
      value = Math.imul(value, hash) >>> 0;
      return (value ^ (value >>> 16)) >>> 0;
    };
    const mixed = (x, y) => {
      const value = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
      return (value ^ (value >>> 16)) >>> 0;
    };
    const pool = [0, 1, 2, 3].map((i) => hashed(i < entropy.length ? entropy[i] : 0));
    for (let from = 0; from < 4; from++) {
      for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]));
    }
    for (let from = 4; from < entropy.length; from++) {
      for (let to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(entropy[from]));
    }
    hash = 0x8b51f9dd;
    const words = [];
    for (let i = 0; i < 8; i++) {
      let value = (pool[i % 4] ^ hash) >>> 0;
      hash = Math.imul(hash, 0x58f38ded) >>> 0;
      value = Math.imul(value, hash) >>> 0;
      words.push((value ^ (value >>> 16)) >>> 0);
    }
    return words;
  }

  // --- the tables of the ziggurat ------------------------------------------------------------------------------------

  const ZIGGURAT_R = 3.6541528853610088;
  const TWO_52 = 4503599627370496;
  const W = new Float64Array(256);
  const K = new Float64Array(256);
  const F = new Float64Array(256);
  {
    const density = (x) => Math.exp(-0.5 * x * x);
    const tail = 1.2533141373155002512 * erfcOfRoot(ZIGGURAT_R);
    const area = ZIGGURAT_R * density(ZIGGURAT_R) + tail; // of each layer
    const x = new Float64Array(257);
    x[255] = ZIGGURAT_R;
    F[255] = density(ZIGGURAT_R);
    for (let i = 254; i > 0; i--) {
      x[i] = Math.sqrt(-2 * Math.log(area / x[i + 1] + density(x[i + 1])));
      F[i] = density(x[i]);
      W[i] = x[i] / TWO_52;
      K[i + 1] = Math.floor((x[i] / x[i + 1]) * TWO_52);
    }
    F[0] = 1;
    W[255] = ZIGGURAT_R / TWO_52;
    W[0] = area / F[255] / TWO_52;
    K[0] = Math.floor(((ZIGGURAT_R * F[255]) / area) * TWO_52);
    K[1] = 0;
  }

  // erfc(x / sqrt(2)) for large x.
  function erfcOfRoot(x) {
    const z = x / Math.SQRT2;
    let below = 0;
    for (let k = 200; k > 0; k--) below = k / 2 / (z + below);
    return Math.exp(-z * z) / (z + below) / Math.sqrt(Math.PI);
  }

  // --- the generator -------------------------------------------------------------------------------------------------

  class Generator {
    constructor(seed = 0, spawned = []) {
      const words = seedState(seed, spawned); // of the state: high 64 bits, low 64 bits; then the same of the increment
      const state = [words[2], words[3], words[0], words[1]];
      const step = [words[6], words[7], words[4], words[5]];
      let carry = 1;
      this.increment = step.map((word) => { // twice the number, plus one
        const doubled = word * 2 + carry;
        carry = doubled >= TWO_32 ? 1 : 0;
        return doubled >>> 0;
      });
      [this.s0, this.s1, this.s2, this.s3] = [0, 0, 0, 0];
      [this.i0, this.i1, this.i2, this.i3] = this.increment;
      this.high = 0; // the last number drawn
      this.low = 0;
      this.spare = -1; // the upper half of a number of which only the lower half was used
      this.advance();
      carry = 0;
      const added = [this.s0, this.s1, this.s2, this.s3].map((word, k) => {
        const sum = word + state[k] + carry;
        carry = sum >= TWO_32 ? 1 : 0;
        return sum >>> 0;
      });
      [this.s0, this.s1, this.s2, this.s3] = added;
      this.advance();
    }

    // state = state * multiplier + increment, modulo 2^128.
    advance() {
      const { s0, s1, s2, s3 } = this;
      // Sums of products of 32 bits by 16 bits, at each place of 16 bits: below 2^53.
      const a0 = s0 * M_LOW[0];
      const a1 = s0 * M_HIGH[0];
      const a2 = s0 * M_LOW[1] + s1 * M_LOW[0];
      const a3 = s0 * M_HIGH[1] + s1 * M_HIGH[0];
      const a4 = s0 * M_LOW[2] + s1 * M_LOW[1] + s2 * M_LOW[0];
      const a5 = s0 * M_HIGH[2] + s1 * M_HIGH[1] + s2 * M_HIGH[0];
      const a6 = s0 * M_LOW[3] + s1 * M_LOW[2] + s2 * M_LOW[1] + s3 * M_LOW[0];
      const a7 = s0 * M_HIGH[3] + s1 * M_HIGH[2] + s2 * M_HIGH[1] + s3 * M_HIGH[0];
      // Each pair of places makes up 32 bits: even + odd * 2^16, with the rest carried on.
      const odd1 = Math.floor(a1 / 65536);
      let sum = a0 + (a1 - odd1 * 65536) * 65536 + this.i0;
      let carry = Math.floor(sum / TWO_32);
      this.s0 = sum - carry * TWO_32;
      const odd3 = Math.floor(a3 / 65536);
      sum = a2 + (a3 - odd3 * 65536) * 65536 + odd1 + this.i1 + carry;
      carry = Math.floor(sum / TWO_32);
      this.s1 = sum - carry * TWO_32;
      const odd5 = Math.floor(a5 / 65536);
      sum = a4 + (a5 - odd5 * 65536) * 65536 + odd3 + this.i2 + carry;
      carry = Math.floor(sum / TWO_32);
      this.s2 = sum - carry * TWO_32;
      sum = a6 + (a7 - Math.floor(a7 / 65536) * 65536) * 65536 + odd5 + this.i3 + carry;
      this.s3 = sum - Math.floor(sum / TWO_32) * TWO_32;
    }

    // Draw 64 bits, into `high` and `low`: the two halves of the state, xored and rotated.
    draw64() {
      this.advance();
      const high = (this.s3 ^ this.s1) >>> 0;
      const low = (this.s2 ^ this.s0) >>> 0;
      const turn = this.s3 >>> 26;
      if (turn === 0) {
        this.high = high;
        this.low = low;
      } else if (turn < 32) {
        this.low = ((low >>> turn) | (high << (32 - turn))) >>> 0;
        this.high = ((high >>> turn) | (low << (32 - turn))) >>> 0;
      } else if (turn === 32) {
        this.low = high;
        this.high = low;
      } else {
        this.low = ((high >>> (turn - 32)) | (low << (64 - turn))) >>> 0;
        this.high = ((low >>> (turn - 32)) | (high << (64 - turn))) >>> 0;
      }
    }

    draw32() {
      if (this.spare >= 0) {
        const value = this.spare;
        this.spare = -1;
        return value;
      }
      this.draw64();
      this.spare = this.high;
      return this.low;
    }

    // A number in [0, 1).
    random() {
      this.draw64();
      return (this.high * 2097152 + (this.low >>> 11)) / 9007199254740992;
    }

    randoms(n) {
      const found = new Float64Array(n);
      for (let i = 0; i < n; i++) found[i] = this.random();
      return found;
    }

    // A whole number from 0 to below, below < 2^32 (Lemire 2019).
    below(n) {
      if (n <= 1) return 0;
      for (;;) {
        const bits = this.draw32();
        const lowProduct = bits * (n & 0xffff) + ((bits & 0xffff) * (n >>> 16)) * 65536;
        const whole = this._product(bits, n);
        const left = lowProduct % TWO_32;
        if (left >= n || left >= (TWO_32 - n) % n) return whole;
      }
    }

    // The upper 32 bits of a product of two numbers of 32 bits.
    _product(a, b) {
      const bl = b & 0xffff;
      const bh = b >>> 16;
      const low = a * bl;
      const high = a * bh;
      return Math.floor((Math.floor(low / 65536) + high) / 65536);
    }

    // A whole number from 0 to 2^62 - 1.
    seed() {
      this.draw64();
      return ((BigInt(this.high) << 32n) | BigInt(this.low)) >> 2n;
    }

    permutation(n) {
      const found = new Int32Array(n);
      for (let i = 0; i < n; i++) found[i] = i;
      for (let i = n - 1; i > 0; i--) {
        const mask = (2 ** (32 - Math.clz32(i)) - 1) | 0;
        let j = (this.draw32() & mask) >>> 0;
        while (j > i) j = (this.draw32() & mask) >>> 0;
        const kept = found[i];
        found[i] = found[j];
        found[j] = kept;
      }
      return found;
    }

    normal() {
      for (;;) {
        this.draw64();
        const index = this.low & 0xff;
        const negative = this.low & 0x100;
        const size = (this.high & 0x1fffffff) * 8388608 + (this.low >>> 9); // 52 bits
        const x = negative ? -size * W[index] : size * W[index];
        if (size < K[index]) return x;
        if (index === 0) {
          for (;;) {
            const xx = -Math.log1p(-this.random()) / ZIGGURAT_R;
            const yy = -Math.log1p(-this.random());
            if (yy + yy > xx * xx) return Math.floor(size / 256) % 2 ? -(ZIGGURAT_R + xx) : ZIGGURAT_R + xx;
          }
        } else if ((F[index - 1] - F[index]) * this.random() + F[index] < Math.exp(-0.5 * x * x)) return x;
      }
    }

    normals(n) {
      const found = new Float64Array(n);
      for (let i = 0; i < n; i++) found[i] = this.normal();
      return found;
    }

    binomial(n, p) {
      if (n === 0 || p === 0) return 0;
      if (p <= 0.5) return p * n <= 30 ? this._inverted(n, p) : this._rejected(n, p);
      const q = 1 - p;
      return n - (q * n <= 30 ? this._inverted(n, q) : this._rejected(n, q));
    }

    _inverted(n, p) {
      const q = 1 - p;
      const none = Math.exp(n * Math.log1p(-p));
      const np = n * p;
      const most = Math.floor(Math.min(n, np + 10 * Math.sqrt(np * q + 1)));
      let x = 0;
      let px = none;
      let u = this.random();
      while (u > px) {
        x++;
        if (x > most) {
          x = 0;
          px = none;
          u = this.random();
        } else {
          u -= px;
          px = ((n - x + 1) * p * px) / (x * q);
        }
      }
      return x;
    }

    _rejected(n, r) {
      const q = 1 - r;
      const fm = n * r + r;
      const m = Math.floor(fm);
      const p1 = Math.floor(2.195 * Math.sqrt(n * r * q) - 4.6 * q) + 0.5;
      const xm = m + 0.5;
      const xl = xm - p1;
      const xr = xm + p1;
      const c = 0.134 + 20.5 / (15.3 + m);
      let a = (fm - xl) / (fm - xl * r);
      const left = a * (1 + a / 2);
      a = (xr - fm) / (xr * q);
      const right = a * (1 + a / 2);
      const p2 = p1 * (1 + 2 * c);
      const p3 = p2 + c / left;
      const p4 = p3 + c / right;
      const nrq = n * r * q;
      for (;;) {
        const u = this.random() * p4;
        let v = this.random();
        let y;
        if (u <= p1) return Math.floor(xm - p1 * v + u);
        if (u <= p2) {
          const x = xl + (u - p1) / c;
          v = v * c + 1 - Math.abs(m - x + 0.5) / p1;
          if (v > 1) continue;
          y = Math.floor(x);
        } else if (u <= p3) {
          y = Math.floor(xl + Math.log(v) / left);
          if (y < 0 || v === 0) continue;
          v *= (u - p2) * left;
        } else {
          y = Math.floor(xr - Math.log(v) / right);
          if (y > n || v === 0) continue;
          v *= (u - p3) * right;
        }
        const k = Math.abs(y - m);
        if (k <= 20 || k >= nrq / 2 - 1) {
          const s = r / q;
          const as = s * (n + 1);
          let f = 1;
          if (m < y) for (let i = m + 1; i <= y; i++) f *= as / i - s;
          else if (m > y) for (let i = y + 1; i <= m; i++) f /= as / i - s;
          if (v > f) continue;
          return y;
        }
        const rho = (k / nrq) * ((k * (k / 3 + 0.625) + 0.16666666666666666) / nrq + 0.5);
        const t = (-k * k) / (2 * nrq);
        const log = Math.log(v);
        if (log < t - rho) return y;
        if (log > t + rho) continue;
        const [x1, f1, z, w] = [y + 1, m + 1, n + 1 - m, n - y + 1];
        const bound = xm * Math.log(f1 / x1) + (n - m + 0.5) * Math.log(z / w) + (y - m) * Math.log((w * r) / (x1 * q));
        if (log > bound + series(f1) + series(z) + series(x1) + series(w)) continue;
        return y;
      }
    }

    // How many of n rows fall into each place, into `into` from `at` on.
    multinomial(n, shares, into, at = 0) {
      let left = n;
      let rest = 1;
      const last = shares.length - 1;
      into.fill(0, at, at + last + 1);
      for (let j = 0; j < last; j++) {
        const drawn = this.binomial(left, shares[j] / rest);
        into[at + j] = drawn;
        left -= drawn;
        if (left <= 0) return into;
        rest -= shares[j];
      }
      into[at + last] = left;
      return into;
    }

    // Places drawn with these chances, which add up to 1.
    choices(chance, n) {
      const reached = new Float64Array(chance.length);
      let total = 0;
      for (let i = 0; i < chance.length; i++) reached[i] = total += chance[i];
      for (let i = 0; i < chance.length; i++) reached[i] /= total;
      const found = new Int32Array(n);
      for (let i = 0; i < n; i++) {
        const u = this.random();
        let low = 0;
        let high = reached.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (reached[middle] <= u) low = middle + 1;
          else high = middle;
        }
        found[i] = low;
      }
      return found;
    }
  }

  function series(x) {
    const xx = x * x;
    return (13680 - (462 - (132 - (99 - 140 / xx) / xx) / xx) / xx) / x / 166320;
  }

  // The generator that this package makes of a seed: a stream of its own (`_check.generator`).
  const generator = (seed) => new Generator(seed, [1]);

  return { Generator, generator };
})();

if (typeof module !== "undefined") module.exports = Draws;
