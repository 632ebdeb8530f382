// Special functions, to about 1e-14: the normal distribution, the incomplete beta and gamma functions, their inverses,
// and Student's t. Python takes these from SciPy and from `statistics.NormalDist`.
const Special = (() => {
  "use strict";

  const LOG_ROOT_2PI = 0.91893853320467274178;
  const TINY = 1e-300;

  // --- the normal distribution ---------------------------------------------------------------------------------------

  function horner(coefficients, r) {
    let value = 0;
    for (const c of coefficients) value = value * r + c;
    return value;
  }

  // Wichura (1988), algorithm AS 241, as in Python's `statistics`.
  const MIDDLE = [
    [2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608],
    [5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1],
  ];
  const OUTER = [
    [7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734],
    [1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1],
  ];
  const TAIL = [
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772],
    [2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1],
  ];

  function normalQuantile(p) {
    const q = p - 0.5;
    if (Math.abs(q) <= 0.425) {
      const r = 0.180625 - q * q;
      return (horner(MIDDLE[0], r) * q) / horner(MIDDLE[1], r);
    }
    let r = Math.sqrt(-Math.log(q <= 0 ? p : 1 - p));
    const [num, den] = r <= 5 ? OUTER : TAIL;
    r -= r <= 5 ? 1.6 : 5;
    const x = horner(num, r) / horner(den, r);
    return q < 0 ? -x : x;
  }

  // The z for which a share `level` of the normal distribution lies between -z and z.
  const reachOf = (level) => -normalQuantile((1 - level) / 2);

  function erf(x) {
    const z = Math.abs(x);
    if (z > 2.5) return Math.sign(x) * (1 - erfc(z));
    let term = z;
    let total = z;
    for (let k = 1; term > 1e-17 * total; k++) { // terms are positive, so nothing cancels
      term *= (2 * z * z) / (2 * k + 1);
      total += term;
    }
    return (Math.sign(x) * 2 * Math.exp(-z * z) * total) / Math.sqrt(Math.PI);
  }

  function erfc(x) {
    if (x < 2.5) return 1 - erf(x);
    let below = 0;
    for (let k = 120; k > 0; k--) below = k / 2 / (x + below); // the continued fraction of Laplace
    return Math.exp(-x * x) / (x + below) / Math.sqrt(Math.PI);
  }

  const normalCdf = (z) => (1 + erf(z / Math.SQRT2)) / 2;

  // --- densities without cancellation (Loader 2000) ------------------------------------------------------------------

  // log gamma(x + 1) minus Stirling's formula.
  function stirlingError(x) {
    if (x > 15) {
      const xx = x * x;
      return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - 691 / 360360 / xx) / xx) / xx) / xx) / xx) / x;
    }
    return logGamma(x + 1) - (x + 0.5) * Math.log(x) + x - LOG_ROOT_2PI;
  }

  function logGamma(x) {
    let shift = 0;
    let product = 1;
    while (x < 16) { // the series below needs a large argument
      product *= x++;
      if (product > 1e280) {
        shift += Math.log(product);
        product = 1;
      }
    }
    return (x - 0.5) * Math.log(x) - x + LOG_ROOT_2PI + stirlingErrorOf(x) - shift - Math.log(product);
  }

  function stirlingErrorOf(x) {
    const xx = x * x;
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - (691 / 360360 - 1 / 156 / xx) / xx) / xx) / xx) / xx) / xx) / x;
  }

  // x log(x / m) + m - x.
  function deviance(x, m) {
    if (x === 0) return m;
    const v = (x - m) / (x + m);
    if (Math.abs(v) < 0.1) {
      let total = (x - m) * v;
      let term = 2 * x * v;
      for (let k = 1; k < 60; k++) {
        term *= v * v;
        const next = total + term / (2 * k + 1);
        if (next === total) break;
        total = next;
      }
      return total;
    }
    return x * Math.log(x / m) + m - x;
  }

  // --- the incomplete beta function ----------------------------------------------------------------------------------

  // x^a y^b / B(a, b), with y = 1 - x.
  function betaKernel(a, b, x, y) {
    const n = a + b;
    if (x <= 0 || y <= 0) return 0;
    if (Math.min(a, b) < 0.1) {
      return Math.exp(a * Math.log(x) + b * Math.log(y) + logGamma(n) - logGamma(a) - logGamma(b));
    }
    const log = stirlingError(n) - stirlingError(a) - stirlingError(b) - deviance(a, n * x) - deviance(b, n * y);
    return ((a * b) / n) * Math.exp(log) * Math.sqrt(n / (2 * Math.PI * a * b));
  }

  // [I_x(a, b), 1 - I_x(a, b)], by a continued fraction (Lentz); y = 1 - x, which may have more digits.
  function betaShares(a, b, x, y) {
    if (x <= 0) return [0, 1];
    if (y <= 0) return [1, 0];
    if (x > (a + 1) / (a + b + 2)) return betaShares(b, a, y, x).reverse();
    let c = 1;
    let d = 1 - ((a + b) * x) / (a + 1);
    d = 1 / (Math.abs(d) < TINY ? TINY : d);
    let fraction = d;
    for (let m = 1; m < 100000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      let step = 1;
      for (const part of [even, odd]) {
        d = 1 + part * d;
        d = 1 / (Math.abs(d) < TINY ? TINY : d);
        c = 1 + part / c;
        if (Math.abs(c) < TINY) c = TINY;
        step = c * d;
        fraction *= step;
      }
      if (Math.abs(step - 1) < 2e-16) break;
    }
    const share = (betaKernel(a, b, x, y) * fraction) / a;
    return [share, 1 - share];
  }

  const betaCdf = (a, b, x) => betaShares(a, b, x, 1 - x)[0];

  // The x with I_x(a, b) = p: Newton's method within a bracket, on the side of 1/2 where x is small.
  function betaQuantile(a, b, p) {
    if (p <= 0) return 0;
    if (p >= 1) return 1;
    if (betaCdf(a, b, 0.5) < p) return 1 - smallBetaQuantile(b, a, 1 - p, p);
    return smallBetaQuantile(a, b, p, 1 - p);
  }

  function smallBetaQuantile(a, b, p, q) {
    let low = 0;
    let high = 0.5;
    // I_x is about x^a / (a B(a, b)) where x is small.
    let x = Math.exp(Math.min((Math.log(p) + Math.log(a) + logGamma(a) + logGamma(b) - logGamma(a + b)) / a, -0.7));
    const middle = a / (a + b);
    if (!(x > 0) || x > 0.1 * middle) {
      const z = normalQuantile(p);
      x = middle + z * Math.sqrt((middle * (1 - middle)) / (a + b + 1));
      if (!(x > 0.02 * middle)) x = 0.1 * middle;
    }
    if (!(x > low && x < high)) x = 0.25;
    for (let round = 0; round < 300; round++) {
      const [below, above] = betaShares(a, b, x, 1 - x);
      const off = p < 0.5 ? below - p : q - above;
      if (off > 0) high = x;
      else low = x;
      const slope = betaKernel(a, b, x, 1 - x) / (x * (1 - x));
      let next = x - off / slope;
      if (off === 0 || Math.abs(next - x) <= 2e-16 * x) return x;
      // On the scale of logarithms, steps never leave the bracket at 0.
      if (!(next > low && next < high)) next = low > 0 ? Math.sqrt(low * high) : x > 0 && off > 0 ? x / 8 : high / 2;
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (next === x) return x;
      x = next;
    }
    return x;
  }

  // --- the incomplete gamma function ---------------------------------------------------------------------------------

  // [P(a, x), 1 - P(a, x)].
  function gammaShares(a, x) {
    if (x <= 0) return [0, 1];
    const kernel = gammaKernel(a, x);
    if (x < a + 1) {
      let term = 1 / a;
      let total = term;
      for (let n = a + 1; term > 1e-17 * total; n++) {
        term *= x / n;
        total += term;
      }
      return [kernel * total, 1 - kernel * total];
    }
    let b = x + 1 - a;
    let c = 1 / TINY;
    let d = 1 / b;
    let fraction = d;
    for (let n = 1; n < 100000; n++) {
      const part = -n * (n - a);
      b += 2;
      d = part * d + b;
      d = 1 / (Math.abs(d) < TINY ? TINY : d);
      c = b + part / c;
      if (Math.abs(c) < TINY) c = TINY;
      fraction *= c * d;
      if (Math.abs(c * d - 1) < 2e-16) break;
    }
    return [1 - kernel * fraction, kernel * fraction];
  }

  // x^a exp(-x) / gamma(a).
  function gammaKernel(a, x) {
    if (a < 1) return Math.exp(a * Math.log(x) - x - logGamma(a));
    return a * Math.exp(-stirlingError(a) - deviance(a, x) - LOG_ROOT_2PI - Math.log(a) / 2);
  }

  // The x with P(a, x) = p.
  function gammaQuantile(a, p) {
    if (p <= 0) return 0;
    let low = 0;
    let high = Infinity;
    const cube = 1 - 1 / (9 * a) + normalQuantile(p) / (3 * Math.sqrt(a));
    let x = a > 0.3 && cube > 0.2 ? a * cube ** 3 : Math.exp((Math.log(p) + logGamma(a + 1)) / a);
    if (!(x > 0) || !Number.isFinite(x)) x = a;
    for (let round = 0; round < 300; round++) {
      const [below, above] = gammaShares(a, x);
      const off = p < 0.5 ? below - p : 1 - p - above;
      if (off > 0) high = x;
      else low = x;
      let next = x - (off * x) / gammaKernel(a, x);
      if (off === 0 || Math.abs(next - x) <= 2e-16 * x) return x;
      if (!(next > low && next < high)) next = high === Infinity ? 2 * x : low > 0 ? (low + high) / 2 : x / 4;
      x = next;
    }
    return x;
  }

  // --- intervals -----------------------------------------------------------------------------------------------------

  // The t such that a share `level` of Student's t distribution lies between -t and t.
  function tQuantile(level, df) {
    const y = betaQuantile(0.5, df / 2, level);
    return Math.sqrt((df * y) / (1 - y));
  }

  // Clopper and Pearson's interval of a rate seen in n trials, of level 1 - alpha; n need not be whole.
  function exactInterval(rate, n, alpha) {
    const yes = rate * n;
    const no = (1 - rate) * n;
    const low = yes <= 0 ? 0 : betaQuantile(yes, no + 1, alpha / 2);
    const high = yes >= n ? 1 : 1 - betaQuantile(no, yes + 1, alpha / 2);
    return [low, high];
  }

  // Wilson's interval of a rate seen in n trials: all rates within z of their own standard errors.
  function wilson(rate, n, z) {
    const zz = z * z;
    const middle = (rate + zz / (2 * n)) / (1 + zz / n);
    const half = (z / (1 + zz / n)) * Math.sqrt((rate * (1 - rate)) / n + zz / (4 * n * n));
    return [rate <= 0 ? 0 : Math.max(middle - half, 0), rate >= 1 ? 1 : Math.min(middle + half, 1)];
  }

  // p-values adjusted for their number (Benjamini and Hochberg 1995).
  function adjusted(pValues) {
    const order = [...pValues.keys()].sort((i, j) => pValues[i] - pValues[j]);
    const found = new Array(pValues.length);
    let least = 1;
    for (let k = order.length; k > 0; k--) {
      least = Math.min(least, (pValues[order[k - 1]] * pValues.length) / k);
      found[order[k - 1]] = least;
    }
    return found;
  }

  return { normalQuantile, normalCdf, reachOf, erf, betaQuantile, gammaQuantile, tQuantile, exactInterval, wilson, adjusted };
})();

if (typeof module !== "undefined") module.exports = Special;
