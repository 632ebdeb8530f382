// The searches behind calibration maps: logistic regression on one or two functions of the score, one temperature for
// all logits, and isotonic regression. They end at the same optimum as Python's (`believable._kernels`).
//
// Rows may be left out: with `fold` and `without`, those whose fold is `without` do not count.
const Optimise = (() => {
  "use strict";

  // An array of n numbers, each from its place.
  function filled(n, make, Kind = Float64Array) {
    const found = new Kind(n);
    for (let i = 0; i < n; i++) found[i] = make(i);
    return found;
  }

  // --- logistic regression -------------------------------------------------------------------------------------------

  const CLOSE = 1e-11; // a step that leaves a smaller error, in linear predictors, is the last one
  const ROUNDING = 1e-14;
  const SETTLED = 1e-6;
  const FURTHEST = 2; // no step more than triples the linear predictors
  const SURE = 1.5; // a shorter step cannot overshoot
  const SHORT_REACH = 0.1;
  const MOST_STEPS = 1000;
  const DAMPING = 1e-13;
  const FLAT_COLUMN = 1e-8; // a column is centred anew if 1 - squared correlation with the intercept is smaller
  const MOST_MOVES = 3;
  const MANY_ROWS = 65536; // from here, some rows are fitted first, so that few passes over all rows are needed
  const SAMPLE_STRIDE = 8;

  // The maximum likelihood coefficients of the columns, then the intercept. `rows` is {columns, y, w, fold, without,
  // noise}, with the weights w or null, and the share of each row that counts as the other class, [of negatives, of
  // positives]. `rising` keeps the coefficients of columns from being negative. The maximum must exist.
  function logistic(rows, { rising = false, start = null } = {}) {
    const k = rows.columns.length;
    let centre = centres(rows);
    let x = start ? inCentred(start, centre) : new Float64Array(k + 1);
    if (!start && rows.y.length > MANY_ROWS) x = search({ ...rows, stride: SAMPLE_STRIDE }, x, centre, rising, 1e-4).x;
    for (let left = MOST_MOVES; ; left--) {
      const found = search(rows, x, centre, rising, CLOSE);
      const info = found.place.information;
      const flat = Array.from({ length: k }, (_, i) =>
        info[i][i] > 0 && Math.abs(info[i][k] / Math.sqrt(info[i][i] * info[k][k])) > Math.sqrt(1 - FLAT_COLUMN));
      if (!flat.some(Boolean) || left === 0) return outOfCentred(found.x, centre);
      // A few rows, far from the others, determine the coefficients: centre the columns there and start again.
      const moved = centre.map((at, i) => at + (flat[i] ? info[i][k] / info[k][k] : 0));
      x = inCentred(outOfCentred(found.x, centre), moved);
      centre = moved;
    }
  }

  function inCentred(x, centre) {
    const found = Float64Array.from(x);
    centre.forEach((at, i) => { found[centre.length] += x[i] * at; });
    return found;
  }

  function outOfCentred(x, centre) {
    const found = Array.from(x);
    centre.forEach((at, i) => { found[centre.length] -= x[i] * at; });
    return found;
  }

  // The weighted means of the columns.
  function centres({ columns, w, fold, without }) {
    return columns.map((column) => {
      let sum = 0;
      let total = 0;
      for (let i = 0; i < column.length; i++) {
        if (fold !== null && fold[i] === without) continue;
        const weight = w === null ? 1 : w[i];
        sum += weight * column[i];
        total += weight;
      }
      return sum / total;
    });
  }

  function search(rows, start, centre, rising, close) {
    const k = centre.length;
    const widest = [...centre.map((at, i) => furthest(rows.columns[i], at)), 1];
    let x = Float64Array.from(start);
    let place = derivatives(rows, x, centre);
    let before = Infinity;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      let direction = newton(x, place, widest, rising, k);
      let reach = inner(direction.map(Math.abs), widest);
      const scale = 1 + inner(x.map(Math.abs), widest);
      const squared = Math.max(inner(direction, place.information.map((row) => inner(row, direction))), 0);
      const typical = place.total > 0 ? Math.sqrt(squared / place.total) : reach;
      const left = reach <= SHORT_REACH ? (typical * reach) / 2 : Infinity;
      if (reach > FURTHEST * scale) {
        const share = (FURTHEST * scale) / reach;
        direction = direction.map((value) => share * value);
        reach *= share;
      }
      const settled = reach >= before / 2 && reach <= SETTLED * scale;
      if (left <= close || reach <= ROUNDING * scale || settled) {
        return { x: added(x, direction, 1), place };
      }
      before = reach;
      let there = added(x, direction, 1);
      let looked = derivatives(rows, there, centre);
      if (reach > SURE && inner(looked.gradient, direction) < 0) { // the likelihood falls at the end of the step
        const cost = costAt(rows, x, centre);
        let share = 1;
        while (share * reach > SURE && costAt(rows, added(x, direction, share), centre) > cost) share /= 2;
        if (share < 1) {
          there = added(x, direction, share);
          looked = derivatives(rows, there, centre);
        }
      }
      x = there;
      place = looked;
    }
    return { x, place };
  }

  const inner = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };
  const added = (x, direction, share) => x.map((value, i) => value + share * direction[i]);

  function furthest(column, at) {
    let most = 0;
    for (let i = 0; i < column.length; i++) {
      const distance = Math.abs(column[i] - at);
      if (distance > most) most = distance;
    }
    return most;
  }

  // The gradient of the log-likelihood, the information, and its total weight.
  function derivatives({ columns, y, w, fold, without, noise, stride = 1 }, x, centre) {
    const two = columns.length === 2;
    const first = columns[0];
    const second = two ? columns[1] : first;
    const c1 = centre[0];
    const c2 = two ? centre[1] : 0;
    const a1 = x[0];
    const a2 = two ? x[1] : 0;
    const constant = x[columns.length];
    const [ofNegatives, ofPositives] = noise;
    let g1 = 0, g2 = 0, g0 = 0, i11 = 0, i12 = 0, i22 = 0, i10 = 0, i20 = 0, i00 = 0;
    for (let i = 0; i < y.length; i += stride) {
      if (fold !== null && fold[i] === without) continue;
      const u = first[i] - c1;
      const v = two ? second[i] - c2 : 0;
      const eta = a1 * u + a2 * v + constant;
      const tail = Math.exp(-Math.abs(eta));
      const more = 1 / (1 + tail);
      const less = tail * more;
      const weight = w === null ? 1 : w[i];
      const missed = weight * (y[i] === 1 ? (eta >= 0 ? less : more) - ofPositives : ofNegatives - (eta >= 0 ? more : less));
      const info = weight * more * less;
      g1 += missed * u;
      g0 += missed;
      i11 += info * u * u;
      i10 += info * u;
      i00 += info;
      if (two) {
        g2 += missed * v;
        i12 += info * u * v;
        i22 += info * v * v;
        i20 += info * v;
      }
    }
    return two
      ? { gradient: [g1, g2, g0], information: [[i11, i12, i10], [i12, i22, i20], [i10, i20, i00]], total: i00 }
      : { gradient: [g1, g0], information: [[i11, i10], [i10, i00]], total: i00 };
  }

  function costAt({ columns, y, w, fold, without, noise, stride = 1 }, x, centre) {
    let total = 0;
    for (let i = 0; i < y.length; i += stride) {
      if (fold !== null && fold[i] === without) continue;
      let eta = x[columns.length];
      for (let j = 0; j < columns.length; j++) eta += x[j] * (columns[j][i] - centre[j]);
      const own = y[i] === 1 ? eta : -eta;
      const cost = Math.max(-own, 0) + Math.log1p(Math.exp(-Math.abs(eta))) + noise[y[i]] * own;
      total += w === null ? cost : w[i] * cost;
    }
    return total;
  }

  // The step to the maximum of the quadratic model; with `rising`, over coefficients of columns that are not negative.
  function newton(x, { gradient, information }, widest, rising, k) {
    const root = information.map((row, i) => {
      const diagonal = row[i] + Math.abs(gradient[i]) * (widest[i] / 1e250);
      return diagonal > 0 ? Math.sqrt(diagonal) : 1;
    });
    const correlation = information.map((row, i) =>
      row.map((value, j) => (i === j ? 1 + DAMPING : value / root[i] / root[j])));
    const slope = gradient.map((value, i) => value / root[i]);
    const all = gradient.map((_, i) => i);
    const whole = solved(correlation, slope, all);
    const place = all.map((i) => x[i] * root[i]);
    const allowed = (step) => all.every((i) => i >= k || !(place[i] + step[i] < 0));
    if (!rising || (whole.every(Number.isFinite) && allowed(whole))) return whole.map((value, i) => value / root[i]);
    let best = all.map(() => 0);
    let gain = -Infinity;
    for (const zero of k === 1 ? [[0]] : [[0], [1], [0, 1]]) {
      const step = all.map((i) => (zero.includes(i) ? -place[i] : 0));
      const free = all.filter((i) => !zero.includes(i));
      const rest = slope.map((value, i) => value - inner(correlation[i], step));
      solved(correlation, rest, free).forEach((value, i) => { if (free.includes(i)) step[i] = value; });
      const value = inner(slope, step) - inner(step, correlation.map((row) => inner(row, step))) / 2;
      if (value > gain && all.every((i) => i >= k || zero.includes(i) || place[i] + step[i] >= 0)) {
        best = step.map((each, i) => (zero.includes(i) ? -x[i] : each / root[i]));
        gain = value;
      }
    }
    return best;
  }

  // The solution of some of the equations for the unknowns of the same numbers; the others are 0.
  function solved(matrix, right, which) {
    const rows = which.map((i) => [...which.map((j) => matrix[i][j]), right[i]]);
    const n = which.length;
    for (let c = 0; c < n; c++) {
      let pivot = c;
      for (let r = c + 1; r < n; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[pivot][c])) pivot = r;
      [rows[c], rows[pivot]] = [rows[pivot], rows[c]];
      for (let r = c + 1; r < n; r++) {
        const factor = rows[r][c] / rows[c][c];
        for (let j = c; j <= n; j++) rows[r][j] -= factor * rows[c][j];
      }
    }
    const found = right.map(() => 0);
    for (let c = n - 1; c >= 0; c--) {
      let value = rows[c][n];
      for (let j = c + 1; j < n; j++) value -= rows[c][j] * found[which[j]];
      found[which[c]] = value / rows[c][c];
    }
    return found;
  }

  // --- one temperature -----------------------------------------------------------------------------------------------

  const LAST_STEP = 3e-5; // the error left is its third power
  const FLATTEST_LOGITS = 1e-6;
  const EXCESS_COST_WHEN_ALL_RIGHT = 1e-6;
  const LEAP = 64;
  const LARGEST_INVERSE = 1e306;
  const LOWEST_EXPONENT = -700;

  // The temperature of least log loss, and which limit it is: "" for none, "equal" if all logits of every row are
  // equal, "right" if every label has the largest logit, "useless" if the log loss falls as the temperature rises.
  // `rows` is {gaps, width, behind, w, fold, without}: how far the logits are below the largest of their row, `width`
  // of them per row (of an event the smaller one alone); how far the label's is; weights or null.
  function temperature(rows, { start = null } = {}) {
    const { gaps, behind, fold, without, width } = rows;
    let spread = 0;
    let wrong = false;
    for (let i = 0; i < behind.length; i++) {
      if (fold !== null && fold[i] === without) continue;
      if (behind[i] > 0) wrong = true;
      for (let j = i * width; j < (i + 1) * width; j++) if (gaps[j] > spread) spread = gaps[j];
    }
    if (spread === 0) return { temperature: 1, limit: "equal" };
    let b = start === null ? 1 / typicalGap(rows, spread) : 1 / start;
    if (!wrong) {
      const weight = total(rows);
      const sharpest = increasing((at) => shortfall(rows, at, weight), b, 1 / LARGEST_INVERSE, LAST_STEP);
      return { temperature: 1 / sharpest, limit: "right" };
    }
    const lowest = FLATTEST_LOGITS / spread;
    if (start === null && behind.length > MANY_ROWS) {
      b = increasing((at) => slopes({ ...rows, stride: SAMPLE_STRIDE }, at), b, lowest, 1e-2);
    }
    b = increasing((at) => slopes(rows, at), b, lowest, LAST_STEP);
    return { temperature: 1 / b, limit: b === lowest ? "useless" : "" };
  }

  function total({ w, behind, fold, without }) {
    let sum = 0;
    for (let i = 0; i < behind.length; i++) if (fold === null || fold[i] !== without) sum += w === null ? 1 : w[i];
    return sum;
  }

  // A typical largest gap of a row, from which a search starts.
  function typicalGap({ gaps, behind, width }, spread) {
    const some = [];
    for (let i = 0; i < behind.length; i += Math.max(1, Math.floor(behind.length / 64))) {
      let most = 0;
      for (let j = i * width; j < (i + 1) * width; j++) most = Math.max(most, gaps[j]);
      if (most > 0) some.push(most / 2);
    }
    some.sort((a, b) => a - b);
    return some.length > 0 ? some[some.length >> 1] : spread / 2;
  }

  // The first three derivatives of the log loss, times b, b^2 and b^3, at an inverse temperature b.
  function slopes({ gaps, behind, width, w, fold, without, stride = 1 }, b) {
    const top = width === 1 ? 1 : 0;
    let first = 0, second = 0, third = 0;
    for (let i = 0; i < behind.length; i += stride) {
      if (fold !== null && fold[i] === without) continue;
      let s0 = top, s1 = 0, s2 = 0, s3 = 0;
      for (let j = i * width; j < (i + 1) * width; j++) {
        const x = Math.max(-b * gaps[j], LOWEST_EXPONENT);
        const e = Math.exp(x);
        s0 += e;
        s1 += e * x;
        s2 += e * x * x;
        s3 += e * x * x * x;
      }
      const mean = s1 / s0;
      const square = s2 / s0;
      const variance = square - mean * mean;
      const weight = w === null ? 1 : w[i];
      first += weight * (mean + b * behind[i]);
      second += weight * variance;
      third += weight * (s3 / s0 - mean * (square + 2 * variance));
    }
    return [first, second, third];
  }

  // How far the mean log loss of labels that are all right is above the wanted excess, in logarithms, and its slope.
  function shortfall({ gaps, behind, width, w, fold, without }, b, weight) {
    const top = width === 1 ? 1 : 0;
    let fall = 0;
    let excess = 0;
    for (let i = 0; i < behind.length; i++) {
      if (fold !== null && fold[i] === without) continue;
      let s0 = top, s1 = 0, ties = top;
      for (let j = i * width; j < (i + 1) * width; j++) {
        const x = Math.max(-b * gaps[j], LOWEST_EXPONENT);
        const e = Math.exp(x);
        s0 += e;
        s1 += e * x;
        if (gaps[j] === 0) ties++;
      }
      const each = w === null ? 1 : w[i];
      fall += (each * s1) / s0;
      excess += each * Math.log1p((s0 - ties) / ties);
    }
    if (!(excess > 0)) return [Infinity, 0, 0];
    return [Math.log(EXCESS_COST_WHEN_ALL_RIGHT) - Math.log(excess / weight), -fall / excess, 0];
  }

  // Where an increasing function of b >= lowest is zero, by steps that use its second derivative, within a bracket.
  function increasing(slopesAt, start, lowest, close) {
    let here = start;
    let below = 0;
    let above = Infinity;
    for (let steps = 0; steps < 500; steps++) {
      const [value, slope, bend] = slopesAt(here);
      let to = here * (1 + newtonStep(value, slope, bend));
      if (value === 0 || (here <= lowest && value > 0) || (here >= LARGEST_INVERSE && value < 0)) break;
      if (value > 0) above = here;
      else below = here;
      if (to === here) break;
      if (!(below < to && to < above)) to = middle(below, above);
      to = Math.min(Math.max(to, lowest), LARGEST_INVERSE);
      if (to === below || to === above) break;
      const moved = Math.abs(to - here);
      const enough = moved <= close * Math.abs(here) && to > lowest;
      here = to;
      if (enough) break;
    }
    return Math.min(Math.max(here, lowest), LARGEST_INVERSE);
  }

  const middle = (below, above) =>
    (below > 0 && above < Infinity ? Math.sqrt(below) * Math.sqrt(above) : below > 0 ? below * LEAP : above / LEAP);

  // The nearer root of value + slope t + bend t^2 / 2, or Newton's step if there is none, cut in length.
  function newtonStep(value, slope, bend) {
    if (!(slope > 0) || !(Math.abs(value) < Infinity)) return value < 0 ? LEAP - 1 : 1 / LEAP - 1;
    const ratio = value / slope;
    const inside = 1 - 2 * ratio * (bend / slope);
    const step = inside >= 0 && inside < Infinity ? (-2 * ratio) / (1 + Math.sqrt(inside)) : -ratio;
    return Math.min(Math.max(step, 1 / LEAP - 1), LEAP - 1);
  }

  // --- isotonic regression -------------------------------------------------------------------------------------------

  // The pieces on which the isotonic regression is constant, from rows in ascending order of the score: the lowest and
  // highest score and the mean outcome of each, in flat arrays.
  function isotonic({ score, y, w, fold, without }) {
    const n = score.length;
    const low = new Float64Array(n);
    const high = new Float64Array(n);
    const weight = new Float64Array(n);
    const events = new Float64Array(n);
    let last = -1;
    for (let i = 0; i < n; ) {
      const at = score[i];
      let all = 0;
      let own = 0;
      for (; i < n && score[i] === at; i++) { // equal scores are one point
        if (fold !== null && fold[i] === without) continue;
        const each = w === null ? 1 : w[i];
        all += each;
        own += each * y[i];
      }
      if (all === 0) continue;
      last++;
      low[last] = high[last] = at;
      weight[last] = all;
      events[last] = own;
      while (last > 0 && events[last - 1] / weight[last - 1] >= events[last] / weight[last]) {
        weight[last - 1] += weight[last];
        events[last - 1] += events[last];
        high[last - 1] = high[last];
        last--;
      }
    }
    const value = filled(last + 1, (i) => Math.min(events[i] / weight[i], 1));
    return { low: low.slice(0, last + 1), high: high.slice(0, last + 1), value };
  }

  return { logistic, temperature, isotonic, filled };
})();

if (typeof module !== "undefined") module.exports = Optimise;
