// What recalibration would gain: every method is judged on rows that its map was not fitted on, and one is recommended
// only if its gain is proven. The rule, the folds and the numbers are those of Python's audit (`auditing/fix.py`,
// `recalibrate/select.py` with rule="proven"), for the methods of this page.
const Fixes = (() => {
  "use strict";

  const { filled } = Optimise;
  const METHODS = Object.keys(Maps.METHODS);
  const NOTHING = "nothing";
  const SCORES = ["log_loss", "brier"];
  const SCORE_WORDS = { log_loss: "log loss", brier: "Brier score", ece: "ECE" };
  const N_FOLDS = 5;
  const N_BINS = 10;
  const N_CELLS = 840;
  const ALIKE_SCORES = 1e-4;
  const FEW_EVENTS = 20;
  const FITTED_ON_ALL = { log_loss: 6, brier: 3 };
  const SLIGHT_SKEWNESS = 1e-6;
  const MOST_SKEWNESS = 0.35;
  const MOST_ROWS_ALIKE = 5;
  const ROUNDING_OF_ROW_SUMS = 1e-6;
  const MOST_CLASSES = 50; // with more, temperature scaling alone is tried

  // --- the rows ------------------------------------------------------------------------------------------------------

  // Rows in folds, checked, with the scores as they are as the baseline.
  function inFolds({ scores, labels, weights, cluster, points }, seed) {
    refusePredictedClasses(scores);
    const counts = Folds.counts(labels, Folds.largest(labels) + 1);
    if (counts.filter((count) => count > 1).length < 2) {
      Rows.refuse("recalibration needs two classes with at least two rows each, to split into folds");
    }
    const fold = Folds.assigned(labels, cluster, N_FOLDS, seed);
    const rows = Maps.problem({ scores, labels, weights, fold });
    return { ...{ rows, labels, weights, cluster, fold, seed }, baseline: { ...baselineOf(scores, rows), points } };
  }

  function refusePredictedClasses(scores) {
    const columns = Array.isArray(scores) ? scores : [scores];
    if (columns.some((column) => column.some((p) => p !== 0 && p !== 1))) return;
    const alike = columns.every((column) => column.every((p) => p === column[0]));
    if (columns[0].length <= MOST_ROWS_ALIKE && alike) return;
    const [what, hint] = Array.isArray(scores)
      ? ["all entries of predictions", "pass predict_proba(X) in place of predict(X)"]
      : ["all predictions", "pass predict_proba(X)[:, 1] in place of predict(X)"];
    Rows.refuse(`${what} are 0 or 1: these look like predicted classes, not probabilities; ${hint}`);
  }

  // Predictions to judge: {p, loss, share, one}, with columns p, [1 - p, p] for one event, the log loss of every row,
  // the share that was fitted, and whether the scores are of one event.
  function baselineOf(scores, { labels, n }) {
    const loss = new Float64Array(n);
    if (!Array.isArray(scores)) {
      const rest = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        rest[i] = 1 - scores[i];
        loss[i] = labels[i] === 1 ? -Math.log(scores[i]) : -Math.log1p(-scores[i]);
      }
      return { p: [rest, scores], loss, share: 0, one: true };
    }
    const sums = new Float64Array(n);
    for (const column of scores) for (let i = 0; i < n; i++) sums[i] += column[i];
    // Recalibrators divide by the sum, which alone would count as a gain.
    const uneven = sums.some((sum) => Math.abs(sum - 1) > ROUNDING_OF_ROW_SUMS);
    const p = uneven ? scores.map((column) => column.map((value, i) => (sums[i] > 0 ? value / sums[i] : 1 / scores.length))) : scores;
    for (let i = 0; i < n; i++) loss[i] = -Math.log(p[labels[i]][i]);
    return { p, loss, share: 0, one: false };
  }

  // Every row recalibrated by a map that was fitted on the other folds.
  function crossFitted(method, { rows, labels, fold }, near = null, tell = () => {}) {
    const p = Maps.emptyColumns(rows);
    for (let k = 0; k <= Folds.largest(fold); k++) {
      tell(k / N_FOLDS);
      Maps.applyTo(method, Maps.learned(method, rows, k, near).maps, rows, k, p);
    }
    return { p, loss: filled(labels.length, (i) => -Math.log(p[labels[i]][i])), share: 1, one: rows.columns === 1 };
  }

  function take({ scores, labels, weights, cluster }, rows) {
    const taken = (values, Kind) => (values ? filled(rows.length, (i) => values[rows[i]], Kind) : null);
    const few = {
      scores: Array.isArray(scores) ? scores.map((column) => taken(column, Float64Array)) : taken(scores, Float64Array),
      labels: taken(labels, Int32Array),
      weights: taken(weights, Float64Array),
      cluster: cluster ? numbered(taken(cluster, Int32Array)) : null,
    };
    if (cluster || !Folds.hasRare(labels)) return few;
    // Weights undo the larger share of a rare class.
    const nClasses = Folds.largest(labels) + 1;
    const drawn = Folds.counts(few.labels, nClasses);
    const counts = Folds.counts(labels, nClasses);
    const { weights: given, labels: at } = few;
    few.weights = filled(at.length, (i) => (counts[at[i]] / drawn[at[i]]) * (given ? given[i] : 1));
    return few;
  }

  // Numbers without gaps, in the same order.
  function numbered(codes) {
    const present = new Uint8Array(Folds.largest(codes) + 1);
    for (const code of codes) present[code] = 1;
    const rank = new Int32Array(present.length);
    for (let code = 1; code < present.length; code++) rank[code] = rank[code - 1] + present[code - 1];
    return codes.map((code) => rank[code]);
  }

  // --- scores and gains ----------------------------------------------------------------------------------------------

  function losses({ p, loss, one }, labels, score) {
    if (score === "log_loss") return loss;
    const found = new Float64Array(labels.length);
    if (one) {
      for (let i = 0; i < found.length; i++) found[i] = (p[1][i] - labels[i]) ** 2;
      return found;
    }
    for (const column of p) for (let i = 0; i < found.length; i++) found[i] += column[i] * column[i];
    for (let i = 0; i < found.length; i++) found[i] += 1 - 2 * p[labels[i]][i];
    return found;
  }

  function sum(values) {
    let found = 0;
    for (let i = 0; i < values.length; i++) found += values[i];
    return found;
  }

  // A weighted mean over rows, its jackknife standard error by row or cluster, the degrees of freedom, and the
  // contribution of each unit to it. Rows of the fold `without` do not count.
  function meanOfRows(values, w, cluster, fold = null, without = -1) {
    const n = values.length;
    let all = 0;
    let mean = 0;
    for (let i = 0; i < n; i++) {
      if (fold !== null && fold[i] === without) continue;
      const weight = w ? w[i] : 1;
      all += weight;
      mean += weight * values[i];
    }
    mean /= all;
    if (!Number.isFinite(mean)) return { mean, error: Infinity, df: 1, off: [] };
    const units = cluster ? Folds.largest(cluster) + 1 : n;
    const share = new Float64Array(units);
    const off = new Float64Array(units);
    for (let i = 0; i < n; i++) {
      if (fold !== null && fold[i] === without) continue;
      const weight = (w ? w[i] : 1) / all;
      const unit = cluster ? cluster[i] : i;
      share[unit] += weight;
      off[unit] += weight * (values[i] - mean);
    }
    let present = 0;
    let squares = 0;
    for (let u = 0; u < units; u++) {
      if (share[u] === 0) continue;
      present++;
      squares += (off[u] / Math.max(1 - share[u], 1e-12)) ** 2;
    }
    return { mean, error: Math.sqrt((squares * (present - 1)) / present), df: Math.max(present - 1, 1), off };
  }

  function infinite(values) {
    let found = 0;
    for (let i = 0; i < values.length; i++) if (values[i] === Infinity) found++;
    return found;
  }

  // The reduction of a mean loss from the first to the second, with its interval. Where losses are infinite, fewer
  // infinite ones are an infinite gain.
  function gainOf(first, second, score, { labels, weights, cluster }, level) {
    const before = losses(first, labels, score);
    const after = losses(second, labels, score);
    const fewer = infinite(before) - infinite(after);
    if (infinite(before) + infinite(after) > 0) {
      const value = fewer === 0 ? NaN : fewer * Infinity;
      return { value, low: value, high: value, error: Infinity };
    }
    const { mean, error, df, off } = meanOfRows(filled(before.length, (i) => before[i] - after[i]), weights, cluster);
    const t = Special.tQuantile(level, df);
    const [low, high] = skewedInterval(t, skewnessOf(off));
    const differences = filled(before.length, (i) => before[i] - after[i]);
    const alone = cluster ? meanOfRows(differences, weights, null).error : 0;
    const rows = before.length / (alone > 0 ? Math.max((error / alone) ** 2, 1) : 1); // as many independent ones
    const more = (t * FITTED_ON_ALL[score] * second.share) / rows;
    return { value: mean, low: mean + low * error, high: mean + Math.hypot(high * error, more), error };
  }

  // The skewness of the sampling distribution of a mean, from what each unit contributes.
  function skewnessOf(off) {
    let most = 0;
    for (let u = 0; u < off.length; u++) most = Math.max(most, Math.abs(off[u]));
    if (most === 0) return 0;
    let second = 0;
    let third = 0;
    for (let u = 0; u < off.length; u++) {
      const part = off[u] / most;
      second += part * part;
      third += part * part * part;
    }
    return third / second ** 1.5;
  }

  // The ends of a confidence interval of a mean, in standard errors from it (Hall 1992).
  function skewedInterval(t, skewness) {
    const most = Math.min(MOST_SKEWNESS, (MOST_SKEWNESS * 2) / t);
    const s = Math.min(Math.max(skewness, -most), most);
    if (Math.abs(s) < SLIGHT_SKEWNESS) return [-t, t];
    const end = (at) => (3 / s) * (Math.cbrt(1 + s * (at - s / 6)) - 1);
    return [Math.min(-end(t), 0), Math.max(-end(-t), 0)];
  }

  // --- calibration errors and cells ----------------------------------------------------------------------------------

  // The score and outcome that a diagram is about: the event, or whether the most probable class is right.
  function judged({ p, one }, labels) {
    if (one) return { score: p[1], outcome: labels };
    const score = new Float64Array(labels.length);
    const outcome = new Uint8Array(labels.length);
    for (let i = 0; i < labels.length; i++) {
      let top = 0;
      for (let k = 1; k < p.length; k++) if (p[k][i] > p[top][i]) top = k;
      score[i] = p[top][i];
      outcome[i] = top === labels[i] ? 1 : 0;
    }
    return { score, outcome };
  }

  // The bin of a score between right-closed edges k/m; the first bin also contains 0.
  function binOf(score, m) {
    const bin = Math.floor(score * m);
    return bin > 0 && score <= bin / m ? bin - 1 : bin;
  }

  // The weighted sum of score minus outcome in each bin.
  function gaps({ score, outcome }, w) {
    const found = new Float64Array(N_BINS);
    for (let i = 0; i < score.length; i++) found[binOf(score[i], N_BINS)] += (w ? w[i] : 1) * (score[i] - outcome[i]);
    return found;
  }

  function ece(mapped, { labels, weights }) {
    return sum(gaps(judged(mapped, labels), weights).map(Math.abs)) / (weights ? sum(weights) : labels.length);
  }

  // The change in ECE, with its interval.
  function errorChange(before, after, { labels, weights, cluster, seed }, level) {
    const pairs = [before, after].map((mapped) => ({ ...judged(mapped, labels), points: mapped.points }));
    const rows = { weights, cluster, nClusters: cluster ? Folds.largest(cluster) + 1 : null };
    return Contest.change(...pairs, before.one ? "binary" : "confidence", rows, N_BINS, level, Draws.generator(seed).seed());
  }

  // The 840-cell statistic of the page.
  function cellsOf(mapped, labels, w) {
    const { score, outcome } = judged(mapped, labels);
    const sums = Array.from({ length: 5 }, () => new Float64Array(N_CELLS + 2));
    for (let i = 0; i < score.length; i++) {
      const at = score[i] === 0 ? 0 : score[i] === 1 ? N_CELLS + 1 : binOf(score[i], N_CELLS) + 1;
      const weight = w ? w[i] : 1;
      sums[0][at]++;
      sums[1][at] += weight;
      sums[2][at] += weight * score[i];
      sums[3][at] += weight * outcome[i];
      sums[4][at] += weight * weight;
    }
    const index = Array.from(sums[0].keys()).filter((at) => sums[0][at] > 0);
    const column = (values) => index.map((at) => values[at]);
    return { index, n: column(sums[0]), w: column(sums[1]), wp: column(sums[2]), wy: column(sums[3]), w2: column(sums[4]) };
  }

  // --- the choice ----------------------------------------------------------------------------------------------------

  // The methods and the baseline, each with its scores, best first; and the choice.
  function compared(problem, level, tell) {
    const { rows, labels, weights, cluster, baseline } = problem;
    const methods = rows.one || rows.nClasses <= MOST_CLASSES ? METHODS : ["temperature"];
    const made = [{ name: NOTHING, simplicity: 0, mapped: baseline }];
    methods.forEach((name, i) => {
      tell((i + 0.5) / (methods.length + 1), `Trying ${Maps.METHODS[name].words}`);
      made.push({ name, simplicity: Maps.METHODS[name].simplicity, mapped: crossFitted(name, problem) });
    });
    for (const one of made) {
      one.values = { ece: ece(one.mapped, problem) };
      one.gains = {};
      for (const score of SCORES) {
        one.values[score] = meanOfRows(losses(one.mapped, labels, score), weights, cluster).mean;
        one.gains[score] = one.name === NOTHING
          ? { value: 0, low: 0, high: 0, error: 0 }
          : gainOf(baseline, one.mapped, score, problem, level);
      }
    }
    const nInfinite = infinite(baseline.loss);
    const score = nInfinite > 0 ? "brier" : "log_loss";
    const tried = ranked(made, score, problem, level);
    const proposed = simplest(tried, score);
    const gain = gainOf(baseline, chosenOutOfFold(made.slice(1), problem, score), score, problem, level);
    const chosen = proposed !== null && gain.low > 0 ? proposed : null;
    return {
      score, tried, chosen, methods,
      made: made.slice(1),
      advice: chosen === null ? adviceAgainst(tried, score, level) : adviceFor(tried, chosen, gain, score, level),
      caveats: [
        ...(nInfinite > 0 ? [
          `The log loss of the scores as they are is infinite (${inRows(nInfinite)} the observed outcome had predicted ` +
            "probability 0), so the Brier score is used instead.",
        ] : []),
        ...caveatsOf(problem),
        ...(chosen === null ? [] : certainties(chosen)),
      ],
    };
  }

  function ranked(made, score, problem, level) {
    const order = [...made].sort((a, b) => {
      const [first, second] = [a.values[score], b.values[score]];
      return first < second ? -1 : first > second ? 1 : a.simplicity - b.simplicity;
    });
    const [best] = order;
    const alike = ALIKE_SCORES * best.values[score];
    for (const one of order) {
      const { value, error } = gainOf(one.mapped, best.mapped, score, problem, level);
      one.behind = Number.isFinite(value) ? value : Infinity;
      one.isAsGood = Number.isFinite(value) && value <= Math.max(error, alike);
    }
    return order;
  }

  // The simplest method within one standard error of the best with a gain above 0, or null.
  function simplest(tried, score) {
    const good = tried.filter((one) => one.isAsGood && one.gains[score].low > 0);
    return good.reduce((best, one) => (best !== null && !simpler(one, best, "behind") ? best : one), null);
  }

  const simpler = (a, b, then) => a.simplicity < b.simplicity || (a.simplicity === b.simplicity && a[then] < b[then]);

  // What the simplest method within one standard error of the best predicts, chosen anew without each fold.
  function chosenOutOfFold(made, { rows, labels, weights, cluster, fold }, score) {
    const lost = made.map(({ mapped }) => losses(mapped, labels, score));
    const p = Maps.emptyColumns(rows);
    const loss = new Float64Array(labels.length);
    for (let k = 0; k <= Folds.largest(fold); k++) {
      const means = lost.map((values) => meanOfRows(values, weights, null, fold, k).mean);
      const best = means.indexOf(Math.min(...means));
      let chosen = best;
      for (let m = 0; m < made.length; m++) {
        if (!Number.isFinite(means[m])) continue;
        const difference = filled(labels.length, (i) => lost[m][i] - lost[best][i]);
        const { mean, error } = meanOfRows(difference, weights, cluster, fold, k);
        const near = mean <= Math.max(error, ALIKE_SCORES * means[best]);
        const simplicity = made[m].simplicity - made[chosen].simplicity;
        if (near && (simplicity < 0 || (simplicity === 0 && means[m] < means[chosen]))) chosen = m;
      }
      const { mapped } = made[chosen];
      for (let i = 0; i < labels.length; i++) {
        if (fold[i] !== k) continue;
        p.forEach((column, c) => { column[i] = mapped.p[c][i]; });
        loss[i] = mapped.loss[i];
      }
    }
    return { p, loss, share: 1, one: rows.columns === 1 };
  }

  // --- in words ------------------------------------------------------------------------------------------------------

  // A number with so many decimals; exactly half of the last one is rounded to even, as in Python.
  function fixed(value, digits, signed = false) {
    const units = Math.abs(value) * 10 ** digits;
    const isHalf = units % 1 === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
    const text = (isHalf ? (Math.sign(value) * 2 * Math.round(units / 2)) / 10 ** digits : value).toFixed(digits);
    return signed && value >= 0 ? `+${text}` : text;
  }

  const thousands = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const inRows = (n) => `in ${thousands(n)} row${n === 1 ? "" : "s"}`;
  const percent = (level) => `${Maps.general(100 * level, 4)} %`;
  const called = ({ name }) => Maps.METHODS[name]?.words ?? name;

  function adviceFor(tried, chosen, gain, score, level) {
    const best = tried[0];
    let text =
      `Use ${called(chosen)}. It lowers the ${SCORE_WORDS[score]} by ${fixed(gain.value, 4)} ` +
      `(${percent(level)} interval ${fixed(gain.low, 4)} to ${fixed(gain.high, 4)}).`;
    if (chosen !== best) {
      text += ` It comes within one standard error of the best method tried, ${called(best)}`;
      text += chosen.simplicity < best.simplicity ? ", and is simpler." : ".";
    }
    return text;
  }

  function adviceAgainst(tried, score, level) {
    const word = SCORE_WORDS[score];
    const best = tried.find(({ name }) => name !== NOTHING);
    const gain = best.gains[score];
    const alone = "Leave the scores alone";
    if (gain.value === -Infinity) {
      return (
        `${alone}. Every method tried assigned probability 0 to an outcome that occurred, so its log loss is infinite; to ` +
        "compare by the Brier score, use score='brier'."
      );
    }
    if (!(gain.value > 0)) return `${alone}: no method tried lowers the ${word}.`;
    const what = `${alone}. The best method tried, ${called(best)}, lowers the ${word} by ${fixed(gain.value, 4)}`;
    if (gain.low > 0) return `${what}, but the gain is not proven once the method is chosen anew without each fold.`;
    return (
      `${what} (${percent(level)} interval ${fixed(gain.low, 4, true)} to ${fixed(gain.high, 4, true)}), which may be noise.`
    );
  }

  function otherMethods(methods) {
    const words = methods.map((name) => Maps.METHODS[name].words);
    const last = words.pop();
    return (
      `This page tries ${words.length ? `${words.join(", ")} and ${last}` : last}. In Python, audit() also tries others, ` +
      "such as a logit spline, so its recommendation may differ."
    );
  }

  // How much of the log loss a method removes.
  function refinementOf(chosen, problem, level) {
    const gain = gainOf(problem.baseline, chosen.mapped, "log_loss", problem, level);
    const mean = ({ loss }) => meanOfRows(loss, problem.weights, problem.cluster).mean;
    const [whole, rest] = [mean(problem.baseline), mean(chosen.mapped)];
    const method = called(chosen);
    if (!Number.isFinite(gain.value)) {
      const [before, after] = [whole, rest].map((value) => (value === Infinity ? "infinite" : fixed(value, 4)));
      return `log loss ${before} before recalibration by ${method}, ${after} after`;
    }
    const effect = gain.value > 0 ? `removes ${fixed((100 * gain.value) / whole, 1)} % of it` : "does not lower it";
    return (
      `log loss ${fixed(whole, 4)} = calibration ${fixed(gain.value, 4)} (${percent(level)} interval ` +
      `${fixed(gain.low, 4)} to ${fixed(gain.high, 4)}) + refinement ${fixed(rest, 4)}; recalibration by ${method} ${effect}`
    );
  }

  function rowsInWords({ rows, labels, cluster, fold }) {
    const clusters = cluster ? ` in ${thousands(Folds.largest(cluster) + 1)} clusters` : "";
    const of = Array.isArray(rows.events) && rows.columns > 1 ? " of the confidence" : "";
    return (
      `${thousands(labels.length)} rows${clusters} in ${Folds.largest(fold) + 1} folds; each row is recalibrated by a fit on ` +
      `the other folds. ECE${of} with ${N_BINS} bins.`
    );
  }

  // What to keep in mind about these rows.
  function caveatsOf({ rows, labels, cluster }) {
    const found = [];
    const classes = Array.from({ length: Folds.largest(labels) + 1 }, () => new Set());
    for (let i = 0; i < labels.length; i++) classes[labels[i]].add(cluster ? cluster[i] : i);
    const rarest = Math.min(...classes.map(({ size }) => size).filter((size) => size > 0));
    if (rarest < FEW_EVENTS) {
      const what = `${cluster ? "cluster" : "row"}${rarest === 1 ? "" : "s"}`;
      found.push(`The rarest class is in only ${rarest} ${what}: the comparison is uncertain, the intervals rough.`);
    }
    if (rows.columns > 1) return found;
    const { score, y, w } = rows.events[0].sorted;
    if (pointsTheOtherWay(score, y, w)) {
      found.push("Higher scores go with fewer events: are these the probabilities of the other class?");
    }
    if (score[y.indexOf(1)] > score[y.lastIndexOf(0)]) {
      found.push("A threshold separates the classes perfectly: were these rows used for training?");
    }
    return found;
  }

  // Whether the AUC is below 1/2 by more than three standard errors under no association.
  function pointsTheOtherWay(score, y, w) {
    const n = score.length;
    let won = 0;
    const events = [0, 0];
    const rows = [0, 0];
    for (let i = 0; i < n; ) {
      const here = [0, 0];
      const at = score[i];
      for (; i < n && score[i] === at; i++) {
        here[y[i]] += w ? w[i] : 1;
        rows[y[i]]++;
      }
      won += here[1] * (events[0] + here[0] / 2);
      events[0] += here[0];
      events[1] += here[1];
    }
    const [n0, n1] = rows;
    return won / (events[0] * events[1]) < 0.5 - 3 * Math.sqrt((n1 + n0 + 1) / (12 * n1 * n0));
  }

  // A caveat if the chosen method predicts probabilities of exactly 0 or 1.
  function certainties({ name, mapped: { p, one } }) {
    const isCertain = one ? (i) => p[1][i] === 0 || p[1][i] === 1 : (i) => p.some((column) => column[i] === 0);
    const certain = sum(filled(p[0].length, (i) => (isCertain(i) ? 1 : 0)));
    if (certain === 0) return [];
    return [`${name} predicts a probability of exactly 0 ${inRows(certain)}: one mistake makes the log loss infinite.`];
  }

  // --- all of it -----------------------------------------------------------------------------------------------------

  // Compare the methods on up to 20,000 rows and judge the chosen one on all. Rows of weight 0 must be left out
  // already; `input.points` are the points of the scores of one event, if they were counted already. What is returned:
  // {methods, fix, after (the recalibrated scores in the shape of the scores), no_fix, caveats, approximations}.
  function tried(input, options = {}, onProgress = () => {}) {
    const { level = 0.95, seed = 0, fix = true } = options;
    const none = (no_fix) => ({ methods: [], fix: null, after: null, no_fix, caveats: [], approximations: [] });
    if (!fix) return none("it was not requested");
    const { scores, weights = null, clusters = null, classes = null } = input;
    const labels = input.labels;
    const all = { scores, labels, weights, cluster: clusters, points: input.points };
    try {
      return remedy(all, { level, seed, names: classes }, onProgress);
    } catch (error) {
      if (error.name !== "InputError") throw error;
      return none(error.message);
    }
  }

  function remedy(all, { level, seed, names }, onProgress) {
    const drawn = Folds.rowsToCompareOn(all.labels, all.cluster, seed);
    const few = inFolds(drawn === null ? all : take(all, drawn), seed);
    const selection = compared(few, level, (share, sentence) => onProgress(0.4 * share, sentence));
    const { chosen, tried: candidates, score } = selection;
    const whole = drawn === null ? few : { rows: Maps.problem({ scores: all.scores, labels: all.labels, weights: all.weights }) };
    const fitted = {};
    selection.methods.forEach((name, i) => {
      onProgress(0.4 + (0.3 * i) / selection.methods.length, `Fitting ${Maps.METHODS[name].words}`);
      fitted[name] = Maps.learned(name, whole.rows);
    });
    const { columns, nClasses } = few.rows;
    const saved = (name) => Maps.saved(name, fitted[name].maps, columns, nClasses, names);
    let changes = [];
    let after = null;
    if (chosen !== null) {
      const tell = (share) => onProgress(0.7 + 0.3 * share, "Measuring the gain");
      tell(0);
      const judgedOn = drawn === null ? few : inFolds(all, seed);
      const mapped = drawn === null ? chosen.mapped : crossFitted(chosen.name, judgedOn, fitted[chosen.name].maps, tell);
      changes = changesOf(mapped, judgedOn, level);
      after = columns > 1 ? mapped.p : mapped.p[1];
    }
    onProgress(1, "");
    const nothing = candidates.find(({ name }) => name === NOTHING);
    return {
      methods: selection.made.map((one) => ({
        method: one.name,
        map: saved(one.name),
        limits: fitted[one.name].limits,
        before: nothing.values.log_loss,
        after: one.values.log_loss,
        gain: one.gains.log_loss.value,
        low: one.gains.log_loss.low,
        high: one.gains.log_loss.high,
        brier_before: nothing.values.brier,
        brier_after: one.values.brier,
        ece_before: nothing.values.ece,
        ece_after: one.values.ece,
        cells: cellsOf(one.mapped, few.labels, few.weights),
      })),
      fix: {
        chosen: chosen === null ? NOTHING : chosen.name,
        advice: selection.advice,
        rows: rowsInWords(few),
        bins: `${N_BINS} uniform bins`,
        score: SCORE_WORDS[score],
        tried: candidates.map((one) => ({
          name: one.name,
          log_loss: one.values.log_loss,
          brier: one.values.brier,
          ece: one.values.ece,
          gain: one.gains[score].value,
          gain_low: one.gains[score].low,
          gain_high: one.gains[score].high,
          chosen: one === chosen || (chosen === null && one === nothing),
        })),
        changes,
        map: chosen === null ? null : Maps.toJson(saved(chosen.name)),
        refinement: chosen === null ? "" : refinementOf(chosen, few, level),
      },
      after,
      no_fix: "",
      caveats: selection.caveats,
      approximations: [otherMethods(selection.methods)],
    };
  }

  function changesOf(mapped, problem, level) {
    const { labels, weights, cluster, baseline } = problem;
    const mean = (one, score) => meanOfRows(losses(one, labels, score), weights, cluster).mean;
    const change = (name, before, after, { value, low, high }) =>
      ({ name: SCORE_WORDS[name], before, after, gain: value, gain_low: low, gain_high: high });
    return [
      ...SCORES.map((score) => change(score, mean(baseline, score), mean(mapped, score), gainOf(baseline, mapped, score, problem, level))),
      change("ece", ece(baseline, problem), ece(mapped, problem), errorChange(baseline, mapped, problem, level)),
    ];
  }

  return { tried, fixed };
})();

if (typeof module !== "undefined") module.exports = Fixes;
