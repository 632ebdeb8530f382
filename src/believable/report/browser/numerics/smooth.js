// The smooth calibration error: residuals smoothed by a Gaussian that is reflected at 0 and 1, and the bandwidth that
// equals their size. The comments of `_kernels/cosine.py` explain why cosine sums suffice.
const Smooth = (() => {
  "use strict";

  const [WAVES_PER_BANDWIDTH, NODES_PER_BANDWIDTH, FIRST_BANDWIDTH, SMALLEST_BANDWIDTH] = [2.5, 6, 0.05, 1e-6];
  const [FEW_COSINES, GRID_FINENESS, TYPICAL_FALL, MOST_STEPS] = [1 << 19, 190, 1.3, 60];
  const [ROUNDING, ROUNDING_OF_MANY] = [1e-13, 1e-7]; // of log size(s) - log s; the last step squares it
  const [WIDEST_BAND, BANDWIDTHS] = [0.1, 7]; // scores beyond so many bandwidths add less than 3e-11

  // --- cosine transforms ---------------------------------------------------------------------------------------------

  const tables = new Map();

  function table(n) {
    if (!tables.has(n)) {
      const cos = new Float64Array(n / 2);
      const sin = new Float64Array(n / 2);
      for (let k = 0; k < n / 2; k++) {
        cos[k] = Math.cos((2 * Math.PI * k) / n);
        sin[k] = -Math.sin((2 * Math.PI * k) / n);
      }
      tables.set(n, { cos, sin });
    }
    return tables.get(n);
  }

  // The Fourier transform, in place; the length is a power of two.
  function transform(re, im) {
    const n = re.length;
    for (let i = 1, j = 0; i < n; i++) {
      let bit = n >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) {
        let kept = re[i];
        re[i] = re[j];
        re[j] = kept;
        kept = im[i];
        im[i] = im[j];
        im[j] = kept;
      }
    }
    const { cos, sin } = table(Math.max(n, 2));
    for (let size = 2; size <= n; size *= 2) {
      const half = size >> 1;
      const stride = n / size;
      for (let start = 0; start < n; start += size) {
        for (let k = 0, t = 0; k < half; k++, t += stride) {
          const a = start + k;
          const b = a + half;
          const x = re[b] * cos[t] - im[b] * sin[t];
          const y = re[b] * sin[t] + im[b] * cos[t];
          re[b] = re[a] - x;
          im[b] = im[a] - y;
          re[a] += x;
          im[a] += y;
        }
      }
    }
  }

  // The cosine transform of type 1 of n + 1 values: y_k = x_0 + (-1)^k x_n + 2 sum_j x_j cos(pi j k / n). It is the
  // Fourier transform of an even sequence of length 2n, from one of n / 2 complex numbers (Cooley, Lewis, Welch 1970).
  function cosines(values) {
    const n = values.length - 1;
    if (n < 4) return plainCosines(values, n);
    const half = n >> 1;
    const { cos, sin } = table(2 * n);
    const re = new Float64Array(half);
    const im = new Float64Array(half);
    let odd = values[0] - values[n]; // the coefficient of order 1, directly
    const folded = new Float64Array(n);
    folded[0] = values[0] + values[n];
    for (let j = 1; j < n; j++) {
      folded[j] = values[j] + values[n - j] + 2 * sin[j] * (values[j] - values[n - j]);
      odd += 2 * values[j] * cos[j];
    }
    for (let j = 0; j < half; j++) {
      re[j] = folded[2 * j];
      im[j] = folded[2 * j + 1];
    }
    transform(re, im);
    const found = new Float64Array(n + 1);
    found[0] = re[0] + im[0];
    found[1] = odd;
    found[n] = re[0] - im[0];
    for (let k = 1; k < half; k++) {
      const other = half - k;
      const evenRe = (re[k] + re[other]) / 2;
      const evenIm = (im[k] - im[other]) / 2;
      const oddRe = (im[k] + im[other]) / 2;
      const oddIm = (re[other] - re[k]) / 2;
      const c = cos[2 * k];
      const s = sin[2 * k];
      found[2 * k] = evenRe + c * oddRe - s * oddIm;
      found[2 * k + 1] = found[2 * k - 1] - (evenIm + c * oddIm + s * oddRe);
    }
    return found;
  }

  function plainCosines(values, n) {
    return Float64Array.from({ length: n + 1 }, (_, k) => {
      let total = values[0] + (k % 2 ? -1 : 1) * values[n];
      for (let j = 1; j < n; j++) total += 2 * values[j] * Math.cos((Math.PI * j * k) / n);
      return total;
    });
  }

  // --- cosine sums of residuals --------------------------------------------------------------------------------------

  const powerOfTwo = (value) => 2 ** Math.ceil(Math.log2(value));
  const gridNodes = (nWaves, least) => Math.max(least, powerOfTwo(Math.max(nWaves, GRID_FINENESS * Math.sqrt(nWaves))));

  // Residuals spread linearly over the two nearest nodes.
  function spread(grid, score, excess, nodes, scale) {
    for (let i = 0; i < score.length; i++) {
      const place = score[i] * nodes;
      const below = Math.floor(place);
      const e = excess[i] * scale;
      const above = (place - below) * e;
      grid[below] += e - above;
      if (below < nodes) grid[below + 1] += above;
    }
  }

  function wavesOfGrid(grid, nWaves) {
    const nodes = grid.length - 1;
    const halved = grid.map((one, j) => (j === 0 || j === nodes ? one : one / 2));
    const all = cosines(halved);
    const waves = all.subarray(0, Math.min(nWaves + 1, all.length));
    for (let k = 1; k < waves.length; k++) {
      const x = (Math.PI * k) / (2 * nodes);
      waves[k] /= (Math.sin(x) / x) ** 2;
    }
    return waves;
  }

  // The cosines of all scores and waves, which rows of residuals share.
  function cosineTable(score, nWaves) {
    const found = new Float64Array(score.length * (nWaves + 1));
    for (let i = 0; i < score.length; i++) {
      for (let k = 0; k <= nWaves; k++) found[i * (nWaves + 1) + k] = Math.cos(Math.PI * k * score[i]);
    }
    return found;
  }

  // A source of cosine sums for several rows of residuals at the same scores, each divided by the total weight.
  function wavesOfRows(score, rows, total) {
    const tablesOfWaves = new Map();
    const m = score.length;
    return (row, nWaves, asked) => {
      const excess = rows.subarray(row * m, (row + 1) * m);
      if (m * nWaves > FEW_COSINES) {
        const nodes = gridNodes(nWaves, 1 << 12);
        const grid = new Float64Array(nodes + 1);
        spread(grid, score, excess, nodes, 1 / total);
        return wavesOfGrid(grid, nWaves);
      }
      const most = Math.min(nWaves, asked);
      if (!tablesOfWaves.has(most)) tablesOfWaves.set(most, cosineTable(score, most));
      const cos = tablesOfWaves.get(most);
      const sums = new Float64Array(most + 1);
      for (let i = 0; i < m; i++) {
        const e = excess[i] / total;
        if (e === 0) continue;
        for (let k = 0, at = i * (most + 1); k <= most; k++, at++) sums[k] += e * cos[at];
      }
      return sums;
    };
  }

  // --- the size of smoothed residuals --------------------------------------------------------------------------------

  function sizeOf(waves, s) {
    const nodes = powerOfTwo(Math.max(NODES_PER_BANDWIDTH / s, 256));
    const m = Math.min(waves.length, nodes, Math.floor(WAVES_PER_BANDWIDTH / s) + 2);
    const damped = new Float64Array(nodes + 1);
    for (let k = 0; k < m; k++) damped[k] = waves[k] * Math.exp(-0.5 * (Math.PI * k * s) ** 2);
    return absoluteArea(cosines(damped));
  }

  // The integral over [0, 1] of the absolute value; where the sign changes, a parabola corrects the trapezoid rule.
  function absoluteArea(curve) {
    const last = curve.length - 1;
    let area = -(Math.abs(curve[0]) + Math.abs(curve[last])) / 2;
    for (let i = 0; i <= last; i++) area += Math.abs(curve[i]);
    for (let at = 0; at < last; at++) {
      if (curve[at + 1] < 0 === curve[at] < 0) continue;
      const left = Math.abs(curve[at]);
      const right = Math.abs(curve[at + 1]);
      const both = left + right;
      const root = left / both;
      const outer = curve[Math.abs(at - 1)] + curve[last - Math.abs(last - at - 2)];
      const bend = ((curve[at] < 0 ? 1 : -1) * (outer - curve[at] - curve[at + 1])) / 2;
      area += both / 6 - root * right + bend * (root ** 2 / 2 - root ** 3 / 3 - 1 / 12);
    }
    return area / last;
  }

  function sizeAt(waves, row, s) {
    const nWaves = powerOfTwo(Math.max(WAVES_PER_BANDWIDTH / s, 1));
    return sizeOf(waves(row, nWaves, Math.floor(WAVES_PER_BANDWIDTH / s) + 2), s);
  }

  // --- the fixed point -----------------------------------------------------------------------------------------------

  const gapOf = (size, s) => Math.log(Math.max(size, 1e-300)) - Math.log(s);

  function fixedPoint(waves, row, most, rounding = ROUNDING) {
    if (!(most > SMALLEST_BANDWIDTH)) return most;
    const start = Math.min(most, FIRST_BANDWIDTH);
    const asked = powerOfTwo(WAVES_PER_BANDWIDTH / start);
    const first = sizeOf(waves(row, asked, asked), start);
    const low = Math.max(Math.min(start, first), SMALLEST_BANDWIDTH);
    const high = Math.max(start, first);
    const guess = Math.max(Math.exp(Math.log(start) + gapOf(first, start) / TYPICAL_FALL), low);
    for (let enough = powerOfTwo(Math.max(WAVES_PER_BANDWIDTH / (0.8 * guess), 1)); ; enough *= 2) {
      const found = searched(waves(row, enough, enough), start, first, low, high, rounding);
      if (found >= WAVES_PER_BANDWIDTH / enough) return found;
    }
  }

  // Secants in log s and log size(s), which is almost a straight line, within the bracket.
  function searched(waves, start, first, from, to, rounding) {
    let [low, high] = [Math.log(from), Math.log(to)];
    let before = Math.log(start);
    let gap = gapOf(first, start);
    let now = Math.min(Math.max(before + gap / TYPICAL_FALL, low), high);
    let after = now;
    for (let round = 0; round < MOST_STEPS; round++) {
      const s = Math.exp(now);
      const fresh = gapOf(sizeOf(waves, s), s);
      low = Math.max(low, Math.min(now, now + fresh));
      high = Math.min(high, Math.max(now, now + fresh));
      const slope = now !== before ? (fresh - gap) / (now - before) : -1;
      after = now - fresh / Math.min(slope, -1); // the size does not grow with s
      if (after < low || after > high) after = (low + high) / 2;
      if (!(Math.abs(fresh) > rounding && high - low > rounding)) break;
      [before, gap, now] = [now, fresh, after];
    }
    return Math.exp(after);
  }

  // --- errors --------------------------------------------------------------------------------------------------------

  // The smooth error of each row of residuals w (y - p) at these scores.
  function errors(score, rows, total) {
    const m = score.length;
    const waves = wavesOfRows(score, rows, total);
    return Float64Array.from({ length: rows.length / m }, (_, row) => {
      let most = 0;
      for (let i = row * m; i < (row + 1) * m; i++) most += Math.abs(rows[i]);
      return fixedPoint(waves, row, most / total, rows.length > m ? ROUNDING_OF_MANY : ROUNDING);
    });
  }

  // The size of each row of residuals smoothed with bandwidth s: with narrow bandwidths by the kernel itself.
  function sizes(score, rows, total, s) {
    if (s <= WIDEST_BAND) return sizesByKernel(score, rows, total, s);
    const waves = wavesOfRows(score, rows, total);
    return Float64Array.from({ length: rows.length / score.length }, (_, row) => sizeAt(waves, row, s));
  }

  function sizesByKernel(score, rows, total, s) {
    const m = score.length;
    const nodes = Math.ceil(Math.max(NODES_PER_BANDWIDTH / s, 256));
    const reach = BANDWIDTHS * s;
    const unit = 1 / (s * Math.sqrt(2 * Math.PI) * total);
    const kernel = (distance) => Math.exp((-distance * distance) / (2 * s * s));
    const blocks = Array.from({ length: nodes + 1 }, (_, k) => {
      const t = k / nodes;
      const first = Count.search(score, t - reach);
      const weights = new Float64Array(Count.search(score, t + reach, true) - first);
      for (let j = 0; j < weights.length; j++) {
        const p = score[first + j];
        let weight = kernel(t - p);
        if (t + p < reach) weight += kernel(t + p); // reflected at 0, and at 1
        if (2 - t - p < reach) weight += kernel(2 - t - p);
        weights[j] = weight * unit;
      }
      return { first, weights };
    });
    const found = new Float64Array(rows.length / m);
    Linear.forRows(Linear.banded(blocks), rows, m, (curve, r) => { found[r] = absoluteArea(curve); });
    return found;
  }

  // The smooth error of many rows, which are spread over a grid.
  function errorOfMany(score, excess, total) {
    const made = new Map();
    const gridOf = (nodes) => {
      if (!made.has(nodes)) {
        made.clear();
        const grid = new Float64Array(nodes + 1);
        spread(grid, score, excess, nodes, 1 / total);
        made.set(nodes, grid);
      }
      return made.get(nodes);
    };
    let most = 0;
    for (const one of gridOf(1 << 14)) most += Math.abs(one);
    return fixedPoint((_, nWaves) => wavesOfGrid(gridOf(gridNodes(nWaves, 1 << 14)), nWaves), 0, most);
  }

  return { errors, sizes, errorOfMany };
})();

if (typeof module !== "undefined") module.exports = Smooth;
