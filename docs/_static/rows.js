// What `believable.expected_precision` and `believable.rows_needed` compute, for the calculator of how-many-rows.html.
// tests/docs/test_rows_js.py holds the two together.
"use strict";

const Rows = (() => {
  const Z = 1.959963984540054; // 97.5 % of a normal distribution
  const BOTH_TAILS = 4.058403372396919; // as `interval` cuts them
  const Z95 = 1.6448536269514722;
  const Z95_SKEWED = (Z95 * Z95 - 1) / 6;
  const HALF_NORMAL_SKEWNESS = (Math.SQRT2 * (4 - Math.PI)) / Math.pow(Math.PI - 2, 1.5);
  const MOST_ROWS = 1e12;
  const FEW = 15; // events, below which formulas are rough: see benchmarks/rows.py
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  const LANCZOS = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];

  // log of the gamma function, x > 0
  function logGamma(x) {
    if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
    const t = x + 6.5;
    const series = LANCZOS.reduce((total, c, i) => total + (i === 0 ? c : c / (x - 1 + i)), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(series);
  }

  const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);

  // The regularised incomplete beta function, by its continued fraction on the side where that converges fast.
  function incompleteBeta(x, a, b) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
    const tiny = 1e-300;
    const awayFromZero = (value) => (Math.abs(value) < tiny ? tiny : value);
    let c = 1;
    let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
    let fraction = d;
    for (let m = 1; m < 100000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / awayFromZero(1 + even * d);
      c = awayFromZero(1 + even / c);
      fraction *= d * c;
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / awayFromZero(1 + odd * d);
      c = awayFromZero(1 + odd / c);
      fraction *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return (Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b)) * fraction) / a;
  }

  // The second derivative of logGamma
  function trigamma(x) {
    let total = 0;
    for (; x < 15; x++) total += 1 / (x * x);
    const y = 1 / (x * x);
    return total + 1 / x + y / 2 + (y / x) * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30)));
  }

  // Where a growing function of [low, high] becomes positive
  function crossing(f, low, high) {
    for (let i = 0; i < 200; i++) {
      const middle = (low + high) / 2;
      if (middle <= low || middle >= high) break;
      if (f(middle) > 0) high = middle;
      else low = middle;
    }
    return (low + high) / 2;
  }

  // The a + b with which calibrated Beta(a, b) scores have this AUC.
  function concentration(rate, auc) {
    const missing = (logK) => {
      const k = Math.exp(logK);
      const [a, b] = [rate * k, (1 - rate) * k];
      return auc - 0.5 - Math.exp(logBeta(k, k) - logBeta(a, a) - logBeta(b, b)) / (k * rate * (1 - rate));
    };
    return Math.exp(crossing(missing, -25, 25));
  }

  // Calibrated scores, as far as precision depends on them.
  function population({ bins = 10, strategy = "uniform", baseRate = 0.5, auc = 0.8 } = {}) {
    const k = concentration(baseRate, auc);
    const [a, b] = [baseRate * k, (1 - baseRate) * k];
    const shares = Array.from({ length: bins + 1 }, (_, m) => m / bins);
    const edge = (share) => (share <= 0 || share >= 1 ? share : crossing((x) => incompleteBeta(x, a, b) - share, 0, 1));
    const edges = strategy === "uniform" ? shares : shares.map(edge);
    const below = edges.map((x) => incompleteBeta(x, a + 1, b + 1));
    const all = (a * b) / (k * (k + 1));
    const chance = below.slice(1).map((value, m) => all * (value - below[m]));
    return { chance, baseRate, information: all * (trigamma(a + 1) + trigamma(b + 1)) };
  }

  // What n rows show.
  function at({ chance, baseRate, information }, n) {
    const xs = chance.map((share) => n * share);
    const sizes = xs.map((x) => (2 * x) / Math.cbrt(1 + Math.pow(2 * Math.PI * x, 1.5)));
    const variances = xs.map((x, m) => Math.max(x - sizes[m] * sizes[m], 0));
    const total = sum(variances);
    const skewed = sum(variances.map((v) => Math.pow(v, 1.5)));
    const skewness = total > 0 ? (HALF_NORMAL_SKEWNESS * skewed) / Math.pow(total, 1.5) : 0;
    const floor = sum(sizes) / n;
    const deviation = Math.sqrt(sum(chance) / n);
    return {
      n,
      events: n * Math.min(baseRate, 1 - baseRate),
      floor,
      floorQ95: Math.min(floor + (Math.sqrt(total) * (Z95 + Z95_SKEWED * skewness)) / n, 1),
      width: Math.min(BOTH_TAILS * deviation, 1),
      slopeWidth: (2 * Z) / Math.sqrt(n * information),
      oeWidth: 2 * Math.sinh(Math.min((Z * deviation) / baseRate, 700)),
    };
  }

  const expectedPrecision = (n, choices) => at(population(choices), n);

  // The smallest number of rows with all that is wished for, { width: 0.02 }, and with events enough to say so.
  function rowsNeeded(wishes, choices) {
    const scores = population(choices);
    const willDo = (n) => {
      const found = at(scores, n);
      return found.events >= FEW && Object.entries(wishes).every(([name, value]) => found[name] <= value);
    };
    if (!willDo(MOST_ROWS)) return null;
    let [least, enough] = [0, MOST_ROWS];
    while (enough - least > 1) {
      const middle = Math.floor((least + enough) / 2);
      if (willDo(middle)) enough = middle;
      else least = middle;
    }
    return at(scores, enough);
  }

  return { expectedPrecision, rowsNeeded, population, at, FEW };
})();

if (typeof module !== "undefined") module.exports = Rows;
