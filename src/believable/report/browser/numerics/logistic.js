// Logistic regression of the outcomes on the logits of the scores: the calibration slope and calibration-in-the-large,
// with their intervals. `metrics/calibration_slope_intercept.py` and `metrics/calibration_in_the_large.py` say the same.
const Logistic = (() => {
  "use strict";

  const NEAREST = 1e-12; // scores closer to 0 or 1 are clipped before their logit is taken
  const LARGEST_LOGIT = Math.log1p(-NEAREST) - Math.log(NEAREST);
  const [CLOSE, MOST_STEPS, ROUNDING, SETTLED, FURTHEST, SURE] = [1e-9, 1000, 1e-14, 1e-6, 2, 1.5];
  const MIN_INDEPENDENCE = 1e-6;
  const [PROFILE_TOLERANCE, FURTHEST_END, MAX_PROFILE_STEPS] = [1e-7, 1e30, 100];
  const TOO_FLAT = "weights or scores differ by too many orders of magnitude; drop the rows of almost no weight";

  function undefinedError(sentence) {
    const error = new Error(sentence);
    error.name = "UndefinedError";
    return error;
  }

  function logit(p) {
    if (p >= 1 - NEAREST) return LARGEST_LOGIT;
    if (p <= NEAREST) return -LARGEST_LOGIT;
    return Math.log(p) - Math.log1p(-p);
  }

  const sigmoid = (z) => (z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z)));

  // Points on the logit scale: x is the logit minus that of one of the scores, which keeps all digits near it.
  function byLogit(points) {
    if (points.byLogit) return points.byLogit;
    const { score } = points;
    const middle = score[score.length >> 1];
    const origin = logit(middle);
    const clear = middle > NEAREST && middle < 1 - NEAREST;
    const x = new Float64Array(score.length);
    let clipped = 0;
    for (let i = 0; i < x.length; i++) {
      const p = score[i];
      if (p < NEAREST || p > 1 - NEAREST) clipped += points.n[i];
      const away = p - middle;
      const near = clear && Math.abs(away) < Math.min(middle, 1 - middle) / 2 && p > NEAREST && p < 1 - NEAREST;
      x[i] = near ? Math.log1p(away / middle) - Math.log1p(-away / (1 - middle)) : logit(p) - origin;
      if (i > 0 && x[i] < x[i - 1]) x[i] = x[i - 1];
    }
    const starts = [];
    for (let i = 0; i < x.length; i++) if (i === 0 || x[i] !== x[i - 1]) starts.push(i);
    let met = points;
    if (starts.length < x.length) {
      met = { score: Float64Array.from(starts, (i) => score[i]), total: points.total };
      for (const name of ["n", "w", "wy", "w2", "w2y"]) {
        met[name] = Float64Array.from(starts, (first, k) => {
          let total = 0;
          for (let i = first; i < (k + 1 < starts.length ? starts[k + 1] : x.length); i++) total += points[name][i];
          return total;
        });
      }
    }
    const found = { x: starts.length < x.length ? Float64Array.from(starts, (i) => x[i]) : x, origin, points: met, clipped, all: Count.sum(points.n) };
    found.logits = found.x.map((one) => origin + one);
    points.byLogit = found;
    return found;
  }

  function noteOnClipping({ clipped, all }) {
    if (!clipped) return "";
    return `${clipped} of ${all} scores were clipped to [1e-12, 1 - 1e-12], because the logits of 0 and 1 are infinite: the result depends on that choice`;
  }

  // 1 if a threshold separates the outcomes with the events above, -1 if below, 0 if not; NaN if there is no line to fit.
  function separation(x, w, wy) {
    let [firstYes, lastYes, firstNo, lastNo] = [NaN, NaN, NaN, NaN];
    for (let i = 0; i < x.length; i++) {
      if (wy[i] > 0) {
        if (Number.isNaN(firstYes)) firstYes = x[i];
        lastYes = x[i];
      }
      if (w[i] - wy[i] > 0) {
        if (Number.isNaN(firstNo)) firstNo = x[i];
        lastNo = x[i];
      }
    }
    if (Number.isNaN(firstYes) || Number.isNaN(firstNo)) return NaN;
    const [above, below] = [lastNo <= firstYes, lastYes <= firstNo];
    return above && below ? NaN : above - below;
  }

  // --- the fit -------------------------------------------------------------------------------------------------------

  // The gradient and the information of the log-likelihood of a + b x + offset; without x, of a + offset.
  function derivatives([a, b], x, offset, w, wy) {
    let [g0, g1, h00, h01, h11] = [0, 0, 0, 0, 0];
    for (let i = 0; i < w.length; i++) {
      const xi = x ? x[i] : 0;
      const eta = a + (x ? b * xi : 0) + (offset ? offset[i] : 0);
      const tail = Math.exp(-Math.abs(eta));
      const large = 1 / (1 + tail);
      const small = tail * large;
      const mu = eta >= 0 ? large : small;
      const nu = eta >= 0 ? small : large;
      const residual = wy[i] * nu - (w[i] - wy[i]) * mu;
      const spread = w[i] * small * large;
      g0 += residual;
      h00 += spread;
      if (x) {
        g1 += residual * xi;
        h01 += spread * xi;
        h11 += spread * xi * xi;
      }
    }
    return { gradient: [g0, g1], information: [h00, h01, h11] };
  }

  function logLikelihood([a, b], x, offset, w, wy) {
    let total = 0;
    for (let i = 0; i < w.length; i++) {
      const eta = a + (x ? b * x[i] : 0) + (offset ? offset[i] : 0);
      total -= wy[i] * Math.max(-eta, 0) + (w[i] - wy[i]) * Math.max(eta, 0) + w[i] * Math.log1p(Math.exp(-Math.abs(eta)));
    }
    return total;
  }

  // Newton's method with halved steps; no step more than triples the linear predictors.
  function fit(x, offset, w, wy, start = [0, 0]) {
    let widest = 0;
    let furthest = 0;
    if (x) for (let i = 0; i < x.length; i++) widest = Math.max(widest, Math.abs(x[i]));
    if (offset) for (let i = 0; i < offset.length; i++) furthest = Math.max(furthest, Math.abs(offset[i]));
    let here = [...start];
    let place = derivatives(here, x, offset, w, wy);
    let before = Infinity;
    for (let round = 0; round < MOST_STEPS; round++) {
      const step = newton(place, Boolean(x));
      let length = Math.abs(step[0]) + Math.abs(step[1]) * widest;
      const scale = 1 + furthest + Math.abs(here[0]) + Math.abs(here[1]) * widest;
      if (length > FURTHEST * scale) {
        const share = (FURTHEST * scale) / length;
        step[0] *= share;
        step[1] *= share;
        length *= share;
      }
      if (!Number.isFinite(length)) break;
      let there = [here[0] + step[0], here[1] + step[1]];
      if (length <= CLOSE || length <= ROUNDING * scale || (length >= before / 2 && length <= SETTLED * scale)) {
        return { at: there, converged: true, information: derivatives(there, x, offset, w, wy).information };
      }
      before = length;
      let next = derivatives(there, x, offset, w, wy);
      if (length > SURE && next.gradient[0] * step[0] + next.gradient[1] * step[1] < 0) {
        const least = logLikelihood(here, x, offset, w, wy);
        let share = 1;
        while (share > 1e-300 && length * share > SURE && logLikelihood(there, x, offset, w, wy) < least) {
          share /= 2;
          there = [here[0] + share * step[0], here[1] + share * step[1]];
        }
        next = derivatives(there, x, offset, w, wy);
      }
      here = there;
      place = next;
    }
    return { at: here, converged: false, information: place.information };
  }

  function newton({ gradient, information: [h00, h01, h11] }, both) {
    if (!both) return [h00 > 0 ? gradient[0] / h00 : 0, 0];
    const [r0, r1] = [Math.sqrt(h00 > 0 ? h00 : 1), Math.sqrt(h11 > 0 ? h11 : 1)];
    const c = h01 / r0 / r1;
    const diagonal = 1 + 1e-13;
    const det = diagonal * diagonal - c * c;
    const [g0, g1] = [gradient[0] / r0, gradient[1] / r1];
    return [(diagonal * g0 - c * g1) / det / r0, (diagonal * g1 - c * g0) / det / r1];
  }

  // Sum of w^2 (y - mu)^2 of the products of 1 and z: the middle of the sandwich.
  function products([a, b], z, offset, w2, w2y) {
    const found = [0, 0, 0];
    for (let i = 0; i < w2.length; i++) {
      const zi = z ? z[i] : 0;
      const mu = sigmoid(a + (z ? b * zi : 0) + (offset ? offset[i] : 0));
      const squared = w2y[i] * (1 - mu) * (1 - mu) + (w2[i] - w2y[i]) * mu * mu;
      found[0] += squared;
      found[1] += squared * zi;
      found[2] += squared * zi * zi;
    }
    return found;
  }

  const inverse = ([a, b, c]) => {
    const det = a * c - b * b;
    return [c / det, -b / det, a / det];
  };

  // The product of symmetric matrices, S M S.
  function sandwich(outer, middle) {
    const times = ([a, b, c], [d, e]) => [a * d + b * e, b * d + c * e];
    const columns = [times(outer, [middle[0], middle[1]]), times(outer, [middle[1], middle[2]])]; // S M
    const rows = [times(outer, [columns[0][0], columns[1][0]]), times(outer, [columns[0][1], columns[1][1]])];
    return [rows[0][0], rows[0][1], rows[1][1]];
  }

  // The line a + b x, fitted in z = (x - centre) / scale.
  function line(x, w, wy) {
    let [centre, scale] = units(x, w);
    let z = x.map((one) => (one - centre) / scale);
    let found = fit(z, null, w, wy);
    for (let round = 0; round < 5 && !sound(found); round++) {
      const slope = found.at[1] / scale;
      const intercept = found.at[0] - slope * centre;
      const spread = w.map((one, i) => {
        const eta = found.at[0] + found.at[1] * z[i];
        return one * sigmoid(eta) * sigmoid(-eta);
      });
      [centre, scale] = units(x, spread);
      z = x.map((one) => (one - centre) / scale);
      found = fit(z, null, w, wy, [intercept + slope * centre, slope * scale]);
    }
    const slope = found.at[1] / scale;
    return { centre, scale, z, fit: found, sound: sound(found), slope, intercept: found.at[0] - slope * centre };
  }

  function sound({ converged, information: [h00, h01, h11] }) {
    return converged && Math.abs(h01) < Math.sqrt(1 - MIN_INDEPENDENCE) * Math.sqrt(h00) * Math.sqrt(h11);
  }

  function units(x, weight) {
    let heaviest = 0;
    for (let i = 0; i < weight.length; i++) if (weight[i] > weight[heaviest]) heaviest = i;
    const most = Math.max(weight[heaviest], 2.2250738585072014e-308);
    let [moved, shares, scale] = [0, 0, 0];
    for (let i = 0; i < x.length; i++) {
      const share = weight[i] / most;
      moved += share * (x[i] - x[heaviest]);
      shares += share;
    }
    const centre = x[heaviest] + moved / Math.max(shares, 1);
    for (let i = 0; i < x.length; i++) scale = Math.max(scale, Math.sqrt(weight[i] / most) * Math.abs(x[i] - centre));
    return [centre, scale > 0 ? scale : x[x.length - 1] - x[0]];
  }

  // --- profile likelihood --------------------------------------------------------------------------------------------

  // Rows of equal weight, each counted once; null if weights differ.
  function asCounts(points) {
    const n = Count.sum(points.n);
    const [w, w2] = [Count.sum(points.w), Count.sum(points.w2)];
    if (w2 * n > w * w * (1 + 1e-12)) return null;
    const unit = n / w;
    for (let i = 0; i < points.n.length; i++) if (Math.abs(points.w[i] * unit - points.n[i]) > 1e-9 * points.n[i]) return null;
    return { ...points, w: points.n, wy: points.wy.map((wy) => Math.round(wy * unit)) };
  }

  function profileEnd(deviance, best, start, side, level) {
    const goal = Special.reachOf(level);
    let [below, above] = [side * best, Infinity];
    let here = side * start;
    for (let round = 0; round < MAX_PROFILE_STEPS; round++) {
      let value = 0;
      let to = here;
      if (here < FURTHEST_END) {
        const [found, derivative] = deviance(side * here);
        const root = Math.sqrt(Math.max(found, 0));
        const furthest = 2 * (1 + Math.abs(here)) * (root < goal ? 1 : -1);
        const rise = derivative * side;
        const step = rise > 0 ? ((goal - root) * 2 * root) / rise : furthest;
        value = root - goal;
        to = here + (Math.abs(step) <= Math.abs(furthest) ? step : furthest);
      }
      if (value === 0 || (here >= FURTHEST_END && value < 0)) break;
      if (Math.abs(value) < PROFILE_TOLERANCE * goal) {
        here = to;
        break;
      }
      if (value > 0) above = here;
      else below = here;
      if (to === here) break;
      if (!(to > below && to < above)) to = (below + above) / 2;
      to = Math.min(to, FURTHEST_END);
      if (to === below || to === above) break;
      here = to;
    }
    return side * (here >= FURTHEST_END ? Infinity : here);
  }

  function shiftDeviance(logits, counts, best) {
    const at = (shift) => logLikelihood([shift, 0], null, logits, counts.w, counts.wy);
    const highest = Number.isFinite(best) ? at(best) : 0;
    return (shift) => [2 * (highest - at(shift)), -2 * derivatives([shift, 0], null, logits, counts.w, counts.wy).gradient[0]];
  }

  // The deviance as a function of the slope, with the intercept at its best value.
  function slopeDeviance(x, counts, highest) {
    let last = [0, 0];
    return (value) => {
      const fixed = x.map((one) => value * one);
      last = fit(null, fixed, counts.w, counts.wy, last).at;
      const found = logLikelihood([last[0], value], x, null, counts.w, counts.wy);
      const { gradient } = derivatives([last[0], value], x, null, counts.w, counts.wy);
      return [2 * (highest - found), -2 * gradient[1]];
    };
  }

  // --- calibration-in-the-large --------------------------------------------------------------------------------------

  function inTheLarge(points, level) {
    const given = byLogit(points);
    const { logits, points: met } = given;
    const events = Count.sum(met.wy);
    const others = met.w.some((w, i) => w - met.wy[i] > 0);
    if (events <= 0 || !others) {
      const value = events <= 0 ? -Infinity : Infinity;
      const counts = asCounts(met);
      if (!counts) return { value, low: -Infinity, high: Infinity };
      const side = value > 0 ? -1 : 1;
      const start = -Count.sum(logits) / logits.length;
      const end = profileEnd(shiftDeviance(logits, counts, value), value, start, side, level);
      return side > 0 ? { value, low: -Infinity, high: end } : { value, low: end, high: Infinity };
    }
    const found = fit(null, logits, met.w, met.wy);
    if (!found.converged) throw undefinedError(`calibration-in-the-large cannot be fitted: ${TOO_FLAT}`);
    const value = found.at[0];
    const half = (Special.reachOf(level) * Math.sqrt(products(found.at, null, logits, met.w2, met.w2y)[0])) / found.information[0];
    return { value, low: value - half, high: value + half, fit: found };
  }

  // The profile-likelihood interval of the shift, whose variance is that of leaving out one cluster at a time.
  function clusteredShift(curve, cluster, level) {
    const points = Count.pointsOf(curve);
    const found = inTheLarge(points, level);
    if (!Number.isFinite(found.value)) return { ...found, low: -Infinity, high: Infinity };
    const { logits, points: met } = byLogit(points);
    const { counts, by } = asEffective(met);
    const offset = curve.score.map(logit);
    const variance = withoutEachCluster([found.value, 0], null, offset, curve, cluster)[0];
    const deviance = shiftDeviance(logits, counts, found.value);
    const [low, high] = scaledProfile(deviance, found.value, variance, 1 / (found.fit.information[0] * by), level, clustersOf(cluster));
    return { value: found.value, low, high };
  }

  function clustersOf(cluster) {
    let most = 0;
    for (let i = 0; i < cluster.length; i++) most = Math.max(most, cluster[i]);
    return most + 1;
  }

  function asEffective(points) {
    const by = Count.sum(points.w) / Count.sum(points.w2);
    return { counts: { ...points, w: points.w.map((w) => w * by), wy: points.wy.map((wy) => wy * by) }, by };
  }

  function scaledProfile(deviance, best, variance, assumed, level, nUnits) {
    const z = Special.reachOf(level);
    const t = Number.isFinite(nUnits) ? Special.tQuantile(level, nUnits - 1) : z;
    const by = (z / t) ** 2 / Math.max(variance / assumed, 1);
    const scaled = (value) => deviance(value).map((one) => one * by);
    const half = z * Math.sqrt(assumed / by);
    return [-1, 1].map((side) => profileEnd(scaled, best, best + side * half, side, level));
  }

  // The jackknife's covariance of the coefficients: one Newton step for each cluster left out.
  function withoutEachCluster([a, b], z, offset, { outcome, weight }, cluster) {
    const n = clustersOf(cluster);
    const parts = Array.from({ length: 5 }, () => new Float64Array(n));
    for (let i = 0; i < cluster.length; i++) {
      const g = cluster[i];
      const w = weight ? weight[i] : 1;
      const zi = z ? z[i] : 0;
      const mu = sigmoid(a + (z ? b * zi : 0) + (offset ? offset[i] : 0));
      const residual = w * (outcome[i] - mu);
      const spread = w * mu * (1 - mu);
      parts[0][g] += residual;
      parts[1][g] += residual * zi;
      parts[2][g] += spread;
      parts[3][g] += spread * zi;
      parts[4][g] += spread * zi * zi;
    }
    const total = parts.slice(2).map(Count.sum);
    const moved = [new Float64Array(n), new Float64Array(n)];
    for (let g = 0; g < n; g++) {
      const rest = [0, 1, 2].map((k) => total[k] - parts[2 + k][g]);
      const back = z ? inverse(rest) : [1 / rest[0], 0, 0];
      moved[0][g] = back[0] * parts[0][g] + back[1] * parts[1][g];
      moved[1][g] = back[1] * parts[0][g] + back[2] * parts[1][g];
    }
    const means = moved.map((one) => Count.sum(one) / n);
    const found = [0, 0, 0];
    for (let g = 0; g < n; g++) {
      const [m0, m1] = [moved[0][g] - means[0], moved[1][g] - means[1]];
      found[0] += m0 * m0;
      found[1] += m0 * m1;
      found[2] += m1 * m1;
    }
    return found.map((one) => (one * (n - 1)) / n);
  }

  // --- the calibration slope -----------------------------------------------------------------------------------------

  // The slope with its Wald interval, and the intercept; an infinite slope has a bound by profile likelihood.
  function slope(points, level) {
    const given = byLogit(points);
    const { x, points: met } = given;
    const side = separation(x, met.w, met.wy);
    if (Number.isNaN(side)) {
      throw undefinedError(`the calibration slope needs ${x[0] === x[x.length - 1] ? "scores that are not all equal" : "both outcomes"}`);
    }
    if (side) return infiniteSlope(given, side, level);
    if (!points.line) points.line = line(x, met.w, met.wy);
    const found = points.line;
    if (!found.sound) throw undefinedError(`the calibration slope cannot be fitted: ${TOO_FLAT}`);
    const covariance = sandwich(inverse(found.fit.information), products(found.fit.at, found.z, null, met.w2, met.w2y));
    const half = (Special.reachOf(level) * Math.sqrt(Math.max(covariance[2], 0))) / found.scale;
    const value = found.slope;
    return { value, low: value - half, high: value + half, intercept: found.intercept - value * given.origin };
  }

  function infiniteSlope(given, side, level) {
    const { x, points } = given;
    const yes = (i) => points.wy[i] > 0;
    const no = (i) => points.w[i] - points.wy[i] > 0;
    const [below, above] = side > 0 ? [no, yes] : [yes, no];
    let lower = x.length - 1;
    while (!below(lower)) lower--;
    let upper = 0;
    while (!above(upper)) upper++;
    const threshold = given.origin + (x[lower] + x[upper]) / 2;
    const intercept = Math.abs(threshold) > 1e-9 ? -side * Math.sign(threshold) * Infinity : 0;
    const value = side * Infinity;
    const counts = asCounts(points);
    if (!counts) return { value, low: -Infinity, high: Infinity, intercept };
    let highest = 0;
    if (lower === upper) {
      const [n, k] = [counts.w[lower], counts.wy[lower]];
      highest = k * Math.log(k / n) + (n - k) * Math.log1p(-k / n);
    }
    const end = profileEnd(slopeDeviance(x, counts, highest), value, (side * 2) / (x[x.length - 1] - x[0]), -side, level);
    return side > 0 ? { value, low: end, high: Infinity, intercept } : { value, low: -Infinity, high: end, intercept };
  }

  // The profile-likelihood interval of the slope, whose variance is that of leaving out one cluster at a time.
  function clusteredSlope(curve, cluster, level) {
    const points = Count.pointsOf(curve);
    const given = byLogit(points);
    const found = slope(points, level);
    if (!Number.isFinite(found.value)) return { ...found, low: -Infinity, high: Infinity };
    const fitted = points.line;
    const { counts, by } = asEffective(given.points);
    const z = curve.score.map((p) => (logit(p) - given.origin - fitted.centre) / fitted.scale);
    const variance = withoutEachCluster(fitted.fit.at, z, null, curve, cluster)[2];
    const assumed = inverse(fitted.fit.information.map((one) => one * by))[2];
    const highest = logLikelihood(fitted.fit.at, fitted.z, null, given.points.w, given.points.wy) * by;
    const deviance = slopeDeviance(given.x, counts, highest);
    const unit = fitted.scale ** 2;
    const [low, high] = scaledProfile(deviance, found.value, variance / unit, assumed / unit, level, clustersOf(cluster));
    return { value: found.value, low, high };
  }

  return { byLogit, noteOnClipping, inTheLarge, slope, clusteredShift, clusteredSlope, undefinedError, inverse };
})();

if (typeof module !== "undefined") module.exports = Logistic;
