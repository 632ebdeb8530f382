// Calibration curves: local parabolas (loess) and isotonic regression, with their bands.
const Curves = (() => {
  "use strict";

  const [SPAN, DEGREE, TIED, DISTINCT] = [0.75, 2, 1e-6, 1e-4];
  const MOST_CELLS = Math.floor(4000 / SPAN); // more distinct scores are merged for the smoother
  const [EXACT_SCORES, KNOTS] = [2000, Math.floor(750 / SPAN)];
  const [N_PLACES, MAX_BAND_POINTS, BAND_DRAWS, MAX_POINTS_OF_LINE] = [101, 500, 300, 201];

  // --- local polynomials ---------------------------------------------------------------------------------------------

  // The weights of the rates at the scores in the fitted value at each position: a list of {first, weights}.
  function smoother({ score, w }, at) {
    const reach = halfWidths(score, w, at);
    return Array.from(at, (x, i) => weightsAt(score, w, x, reach[i]));
  }

  // The distance within which the weight of the scores first reaches the span.
  function halfWidths(score, w, at) {
    const reached = withZero(Count.running(w));
    const m = score.length;
    const target = Math.max(SPAN - 1e-9, 1e-12) * reached[m];
    const end = (k) => (k < m ? score[k] : Infinity);
    const rightOf = (a, x) => end(Math.max(Count.search(reached, reached[a] + target) - 1, a)) - x;
    return Array.from(at, (x) => {
      let [low, high] = [0, m - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (rightOf(middle, x) >= x - score[middle]) high = middle;
        else low = Math.min(middle + 1, high);
      }
      const before = Math.max(low - 1, 0);
      return Math.min(Math.max(x - score[low], rightOf(low, x)), Math.max(x - score[before], rightOf(before, x)));
    });
  }

  function withZero(values) {
    const found = new Float64Array(values.length + 1);
    found.set(values, 1);
    return found;
  }

  function weightsAt(score, w, x, h) {
    const above = Math.min(Count.search(score, x), score.length - 1);
    const near = Math.min(Math.abs(score[above] - x), Math.abs(score[Math.max(above - 1, 0)] - x));
    const alone = near >= h * (1 - TIED);
    const reach = alone ? near * (1 + TIED) : h * (1 - TIED);
    const first = Count.search(score, x - reach);
    const last = Count.search(score, x + reach, true);
    const u = new Float64Array(last - first);
    const k = new Float64Array(last - first);
    let heaviest = 0;
    for (let j = 0; j < u.length; j++) {
      const distance = score[first + j] - x;
      const inside = Math.abs(distance) <= reach;
      u[j] = inside ? distance / (alone ? 1 : h) : NaN;
      k[j] = inside ? w[first + j] : 0;
      heaviest = Math.max(heaviest, k[j]);
    }
    let total = 0;
    for (let j = 0; j < u.length; j++) {
      if (Number.isNaN(u[j])) continue;
      const a = Math.abs(u[j]);
      const left = 1 - a * a * a;
      k[j] = (k[j] / heaviest) * (alone ? 1 : left * left * left);
      total += k[j];
    }
    for (let j = 0; j < k.length; j++) k[j] /= total;
    return { first, weights: polynomialWeights(u, k, alone ? 0 : Math.min(determined(u), DEGREE)) };
  }

  // The largest degree that the scores determine.
  function determined(u) {
    let [low, high] = [Infinity, -Infinity];
    for (const one of u) {
      if (one < low) low = one; // NaN is neither
      if (one > high) high = one;
    }
    [low, high] = [low + DISTINCT, high - DISTINCT];
    for (const one of u) if (one > low && one < high) return 2;
    return high > low - DISTINCT ? 1 : 0;
  }

  // The weights of the rates in the polynomial's value at u = 0, from polynomials orthogonal under the weights k.
  function polynomialWeights(u, k, degree) {
    const weights = Float64Array.from(k);
    const clean = u.map((one) => (Number.isNaN(one) ? 0 : one));
    const lower = [{ values: k.map(() => 1), weighted: k, here: 1 }];
    let power = clean;
    let powerHere = 0;
    for (let d = 1; d <= degree; d++) {
      power = Float64Array.from(power);
      for (const { values, weighted, here } of [...lower, ...lower]) { // twice, which keeps all digits
        let share = 0;
        for (let j = 0; j < power.length; j++) share += power[j] * weighted[j];
        for (let j = 0; j < power.length; j++) power[j] -= share * values[j];
        powerHere -= share * here;
      }
      let size = 0;
      for (let j = 0; j < power.length; j++) size += power[j] * power[j] * k[j];
      size = Math.sqrt(size);
      const fits = size > 0;
      const here = fits ? powerHere / size : 0;
      const values = power.map((one) => one / (fits ? size : 1));
      const weighted = values.map((one, j) => one * k[j]);
      for (let j = 0; j < weights.length; j++) weights[j] += weighted[j] * here;
      lower.push({ values, weighted, here });
      power = values.map((one, j) => one * lower[1].values[j]);
      powerHere = here * lower[1].here;
    }
    return weights;
  }

  const clip = (value) => Math.min(Math.max(value, 0), 1);

  function applied(blocks, rate) {
    return Float64Array.from(blocks, ({ first, weights }) => {
      let total = 0;
      for (let j = 0; j < weights.length; j++) total += weights[j] * rate[first + j];
      return clip(total);
    });
  }

  const rateOf = (points) => points.wy.map((wy, i) => wy / points.w[i]);

  // The smoothed rate at the scores themselves, interpolated between knots if there are many.
  function ratesAtScores(points) {
    const few = Count.merged(points, MOST_CELLS).points;
    const knots = knotsOf(points);
    const rates = applied(smoother(few, knots), rateOf(few));
    return knots.length === points.score.length ? rates : interpolated(points.score, knots, rates);
  }

  function knotsOf({ score, w }) {
    if (score.length <= Math.max(EXACT_SCORES, KNOTS)) return score;
    const knots = Count.cellStarts(score, w, KNOTS).map((k) => score[k]);
    const last = score[score.length - 1];
    return Float64Array.from(knots[knots.length - 1] < last ? [...knots, last] : knots);
  }

  // np.interp at ascending positions.
  function interpolated(x, knots, values) {
    const found = new Float64Array(x.length);
    let k = 0;
    for (let i = 0; i < x.length; i++) {
      if (x[i] <= knots[0]) found[i] = values[0];
      else if (x[i] >= knots[knots.length - 1]) found[i] = values[knots.length - 1];
      else {
        while (knots[k + 1] <= x[i]) k++;
        const share = (x[i] - knots[k]) / (knots[k + 1] - knots[k]);
        found[i] = values[k] * (1 - share) + values[k + 1] * share;
      }
    }
    return found;
  }

  // The mean distance of the smoothed curve from the diagonal (ICI).
  function index(points) {
    const rates = ratesAtScores(points);
    let total = 0;
    for (let i = 0; i < rates.length; i++) total += Math.abs(rates[i] - points.score[i]) * points.w[i];
    return total / Count.sum(points.w);
  }

  // The same for rows of outcomes at the same points: a function, because the smoother is made only once.
  function indexOfRows(points) {
    const m = points.score.length;
    const matrix = Linear.banded(smoother(points, points.score));
    const total = Count.sum(points.w);
    return (rows) => {
      const found = new Float64Array(rows.length / m);
      const rates = new Float64Array(rows.length);
      for (let r = 0, k = 0; k < rows.length; r++) for (let j = 0; j < m; j++, k++) rates[k] = rows[k] / points.w[j];
      Linear.forRows(matrix, rates, m, (curve, r) => {
        let off = 0;
        for (let i = 0; i < m; i++) off += Math.abs(clip(curve[i]) - points.score[i]) * points.w[i];
        found[r] = off / total;
      });
      return found;
    };
  }

  // --- the smoothed curve --------------------------------------------------------------------------------------------

  function placesOf(score) {
    const [low, high] = [score[0], score[score.length - 1]];
    if (low === high) return Float64Array.of(low);
    const step = N_PLACES - 1;
    return Float64Array.from({ length: N_PLACES }, (_, k) => (k === step ? high : low + ((high - low) * k) / step));
  }

  function smoothed(points, level) {
    const x = placesOf(points.score);
    const few = Count.merged(points, MOST_CELLS).points;
    const blocks = smoother(few, x);
    const y = applied(blocks, rateOf(few));
    const g = interpolated(few.score, x, y);
    const noise = few.w2.map((w2, i) => (w2 * g[i] * (1 - g[i])) / few.w[i] ** 2);
    const z = Special.reachOf(level);
    const half = blocks.map(({ first, weights }) => {
      let variance = 0;
      for (let j = 0; j < weights.length; j++) variance += weights[j] ** 2 * noise[first + j];
      return z * Math.sqrt(variance);
    });
    return { x, y, low: y.map((one, i) => clip(one - half[i])), high: y.map((one, i) => clip(one + half[i])) };
  }

  // --- isotonic regression -------------------------------------------------------------------------------------------

  // The non-decreasing values closest to wy / w, by pooling adjacent violators; rows start at `at` of wy.
  function pav(w, wy, at = 0, m = w.length) {
    const starts = new Int32Array(m);
    const weight = new Float64Array(m);
    const sums = new Float64Array(m);
    let blocks = 0;
    for (let i = 0; i < m; i++) {
      starts[blocks] = i;
      weight[blocks] = w[i];
      sums[blocks] = wy[at + i];
      blocks++;
      while (blocks > 1 && sums[blocks - 2] * weight[blocks - 1] >= sums[blocks - 1] * weight[blocks - 2]) {
        blocks--;
        weight[blocks - 1] += weight[blocks];
        sums[blocks - 1] += sums[blocks];
      }
    }
    const values = new Float64Array(m);
    for (let b = 0; b < blocks; b++) values.fill(sums[b] / weight[b], starts[b], b + 1 < blocks ? starts[b + 1] : m);
    return values;
  }

  function groupStarts(points) {
    const m = points.score.length;
    if (m <= MAX_BAND_POINTS) return null;
    const last = new Set(Count.quantilePositions(Count.running(points.w), MAX_BAND_POINTS));
    return [0, ...[...last].sort((a, b) => a - b).map((k) => k + 1)].filter((k) => k < m);
  }

  // The CORP curve with its consistency band: where the curves of a calibrated model would lie.
  function corp(points, level, seed) {
    const x = points.score;
    const y = pav(points.w, points.wy);
    const starts = groupStarts(points);
    const few = starts ? Count.gathered(points, starts) : points;
    const rate = few.score.map(clip);
    const m = rate.length;
    const size = few.w.map((w, i) => Math.max(roundHalfEven((w * w) / few.w2[i]), 1));
    const rng = Draws.generator(seed);
    const curves = new Float64Array(BAND_DRAWS * m);
    const wy = new Float64Array(m);
    for (let draw = 0; draw < BAND_DRAWS; draw++) {
      for (let i = 0; i < m; i++) wy[i] = few.w[i] * (rng.binomial(size[i], rate[i]) / size[i]);
      curves.set(pav(few.w, wy), draw * m);
    }
    const column = new Float64Array(BAND_DRAWS);
    const ends = [new Float64Array(m), new Float64Array(m)];
    for (let i = 0; i < m; i++) {
      for (let draw = 0; draw < BAND_DRAWS; draw++) column[draw] = curves[draw * m + i];
      column.sort();
      ends[0][i] = quantile(column, (1 - level) / 2);
      ends[1][i] = quantile(column, (1 + level) / 2);
    }
    const [low, high] = ends.map((end) => interpolated(x, few.score, end));
    return { x, y, low, high };
  }

  function roundHalfEven(value) {
    const whole = Math.floor(value);
    const rest = value - whole;
    return rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? whole + 1 : whole;
  }

  // A quantile of sorted values, interpolated linearly as NumPy does.
  function quantile(sorted, share) {
    const place = share * (sorted.length - 1);
    const k = Math.min(Math.floor(place), sorted.length - 1);
    const above = Math.min(k + 1, sorted.length - 1);
    const [a, b, t] = [sorted[k], sorted[above], place - k];
    return t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
  }

  // --- lines of a report ---------------------------------------------------------------------------------------------

  // At most 201 points of a curve.
  function line(method, { x, y, low, high }, band) {
    const n = Math.min(x.length, MAX_POINTS_OF_LINE);
    const at = [...new Set(Array.from({ length: n }, (_, k) => roundHalfEven(n > 1 ? k * ((x.length - 1) / (n - 1)) : 0)))];
    const chosen = (values) => at.map((k) => values[k]);
    return { method, x: chosen(x), y: chosen(y), low: chosen(low), high: chosen(high), band };
  }

  function lines(points, level, seed) {
    const percent = `${Words.general(100 * level, 4)} %`;
    return [
      line("smoothed", smoothed(points, level), `${percent} interval around the curve, point by point`),
      line("corp", corp(points, level, seed), `where ${percent} of the curves of a calibrated model would lie, point by point`),
    ];
  }

  return { index, indexOfRows, lines, quantile, roundHalfEven };
})();

if (typeof module !== "undefined") module.exports = Curves;
