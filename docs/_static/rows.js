// What `believable.expected_precision` and `believable.rows_needed` compute, for the calculator of how-many-rows.html.
// tests/docs/test_rows_js.py holds the two together.
"use strict";

const Rows = (() => {
  const Z = 1.959963984540054; // 97.5 % of a normal distribution
  const BOTH_TAILS = 4.058403372396919; // as `interval` cuts them
  const Z80 = 0.8416212335729143; // widths are those that 80 % of samples keep
  const ECE_WIDER = 1.07; // these two are measured: see rows_needed.py
  const WIDTHS_VARY = 1.8;
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

  // The derivative of order m + 1 of logGamma: the digamma function for m = 0
  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730];
  const factorial = (m) => (m < 2 ? 1 : m * factorial(m - 1));
  function polygamma(m, x) {
    const sign = m % 2 ? 1 : -1;
    let total = 0;
    for (; x < 20; x++) total += factorial(m) / Math.pow(x, m + 1);
    total += factorial(m) / (2 * Math.pow(x, m + 1)) + (m === 0 ? -Math.log(x) : factorial(m - 1) / Math.pow(x, m));
    BERNOULLI.forEach((number, i) => {
      const order = 2 * i + 2;
      total += (number * factorial(order + m - 1)) / (factorial(order) * Math.pow(x, order + m));
    });
    return sign * total;
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
    return { chance, baseRate, ...moments(a, b) };
  }

  // Information about the slope, and how much standard errors vary, for one row: `_Moments` in rows_needed.py.
  function moments(a, b) {
    const k = a + b;
    const v = (a * b) / (k * (k + 1));
    const squared = (v * (a + 1) * (b + 1)) / ((k + 2) * (k + 3));
    const centre = polygamma(0, a + 1) - polygamma(0, b + 1);
    const powers = (i, j) => {
      const first = polygamma(0, a + i) - polygamma(0, b + j) - centre;
      const [second, third, fourth] = [1, 2, 3].map(
        (m) => polygamma(m, a + i) - (m % 2 ? -1 : 1) * polygamma(m, b + j),
      );
      const central = 3 * second ** 2 + fourth;
      return [
        second + first ** 2,
        third + 3 * first * second + first ** 3,
        central + 4 * first * third + 6 * first ** 2 * second + first ** 4,
      ];
    };
    const [low, high] = [powers(1, 2), powers(2, 1)];
    const [notP, p] = [(v * (b + 1)) / (k + 2), (v * (a + 1)) / (k + 2)];
    const information = v * powers(1, 1)[0];
    const ofScores = (squared * powers(2, 2)[2]) / information ** 2 - 1;
    const [of2, of3] = [0, 1].map((i) => notP * low[i] - p * high[i]);
    const ofLine = of2 ** 2 / (information ** 2 * v) + of3 ** 2 / information ** 3;
    return {
      information,
      errorVaries: Math.sqrt(Math.max(v - 3 * squared - v * v, 0)) / (2 * v),
      slopeVaries: Math.sqrt(Math.max(ofScores + ofLine, 0)) / 2,
    };
  }

  // What n rows show.
  function at({ chance, baseRate, information, errorVaries, slopeVaries }, n) {
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
      width: Math.min(ECE_WIDER * BOTH_TAILS * deviation * (1 + (WIDTHS_VARY * Z80 * errorVaries) / Math.sqrt(n)), 1),
      slopeWidth: ((2 * Z) / Math.sqrt(n * information)) * (1 + (WIDTHS_VARY * Z80 * slopeVaries) / Math.sqrt(n)),
      oeWidth: 2 * Math.sinh(Math.min((Z * deviation) / baseRate, 700)) * (1 + (Z80 * errorVaries) / Math.sqrt(n)),
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
