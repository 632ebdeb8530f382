// How cross-fitting assigns rows to folds, and which rows methods are compared on: the same as in Python
// (`recalibrate/crossfit.py`, `auditing/fix.py`) for the same seed.
const Folds = (() => {
  "use strict";

  const MOST_DRAWS = 20;
  const MOST_ROWS_TO_COMPARE_ON = 20000;
  const FEWEST_ROWS_OF_RARE_CLASS = 100;
  const FEWEST_CLUSTERS_OF_RARE_CLASS = 20;

  function counts(codes, n) {
    const found = new Float64Array(n);
    for (let i = 0; i < codes.length; i++) found[codes[i]]++;
    return found;
  }

  function largest(codes) {
    let most = 0;
    for (let i = 0; i < codes.length; i++) if (codes[i] > most) most = codes[i];
    return most;
  }

  // --- folds ---------------------------------------------------------------------------------------------------------

  // The fold of each row: random, with equal numbers of rows, or of clusters, which are kept together.
  function assigned(labels, cluster, nFolds, seed) {
    const rng = Draws.generator(seed);
    const n = labels.length;
    const nUnits = cluster ? largest(cluster) + 1 : n;
    if (cluster && nUnits < nFolds) {
      Rows.refuse(`clusters has ${nUnits} clusters, too few for cv=${nFolds} folds`);
    }
    const ofUnit = new Uint8Array(nUnits);
    const fold = new Uint8Array(n);
    for (let draw = 0; draw < MOST_DRAWS; draw++) {
      const order = rng.permutation(nUnits);
      for (let i = 0; i < nUnits; i++) ofUnit[order[i]] = i % nFolds;
      for (let i = 0; i < n; i++) fold[i] = ofUnit[cluster ? cluster[i] : i];
      if (leavesClasses(labels, fold, nFolds)) return fold;
    }
    return cluster ? evenFoldsOf(cluster, labels, nFolds, rng.below(2147483648)) : evenFolds(labels, nFolds, rng);
  }

  // Whether, without any one fold, two classes have rows; true if there is one class only.
  function leavesClasses(labels, fold, nFolds) {
    const nClasses = largest(labels) + 1;
    const all = counts(labels, nClasses);
    if (all.filter((count) => count > 0).length < 2) return true;
    const within = new Float64Array(nFolds * nClasses);
    for (let i = 0; i < labels.length; i++) within[fold[i] * nClasses + labels[i]]++;
    for (let k = 0; k < nFolds; k++) {
      let left = 0;
      for (let c = 0; c < nClasses; c++) if (all[c] > within[k * nClasses + c]) left++;
      if (left < 2) return false;
    }
    return true;
  }

  // The rows of each class, dealt out evenly.
  function evenFolds(labels, nFolds, rng) {
    const order = rng.permutation(labels.length);
    const next = counts(labels, largest(labels) + 1);
    for (let c = 0, before = 0; c < next.length; c++) {
      before += next[c];
      next[c] = before - next[c]; // where the class begins
    }
    const fold = new Uint8Array(labels.length);
    for (const row of order) fold[row] = next[labels[row]]++ % nFolds;
    return fold;
  }

  // Clusters, dealt out so that each class is spread over the folds, as scikit-learn's StratifiedGroupKFold does.
  function evenFoldsOf(cluster, labels, nFolds, seed) {
        const present = [...new Set(labels)].sort((a, b) => a - b);
    const place = new Map(present.map((label, c) => [label, c]));
    const nClusters = largest(cluster) + 1;
    const inCluster = Array.from({ length: nClusters }, () => new Float64Array(present.length));
    const total = new Float64Array(present.length);
    for (let i = 0; i < labels.length; i++) {
      inCluster[cluster[i]][place.get(labels[i])]++;
      total[place.get(labels[i])]++;
    }
    if (total.every((count) => nFolds > count)) {
      Rows.refuse(`n_splits=${nFolds} cannot be greater than the number of members in each class.`);
    }
    const order = Array.from(Random.oldPermutation(nClusters, seed));
    const spread = inCluster.map((each) => deviation(each));
    order.sort((a, b) => spread[b] - spread[a]); // a stable sort keeps the random order of ties

    const inFold = Array.from({ length: nFolds }, () => new Float64Array(present.length));
    const ofCluster = new Uint8Array(nClusters);
    for (const one of order) {
      let best = 0;
      let least = Infinity;
      let fewest = Infinity;
      for (let k = 0; k < nFolds; k++) {
        const shares = total.map((count, c) => {
          const column = inFold.map((each, j) => (each[c] + (j === k ? inCluster[one][c] : 0)) / count);
          return deviation(column, true);
        });
        const uneven = pairwise(shares) / shares.length;
        const rows = pairwise(inFold[k]);
        const close = Math.abs(uneven - least) <= 1e-8 + 1e-5 * Math.abs(least);
        if (uneven < least || (close && rows < fewest)) [best, least, fewest] = [k, uneven, rows];
      }
      inFold[best].forEach((_, c) => { inFold[best][c] += inCluster[one][c]; });
      ofCluster[one] = best;
    }
    const fold = Uint8Array.from(cluster, (one) => ofCluster[one]);
    for (let k = 0; k < nFolds; k++) {
      if (new Set(labels.filter((_, i) => fold[i] !== k)).size < 2) {
        Rows.refuse(
          `without the clusters of fold ${k}, only one class is left to fit on: the other class is in too few clusters ` +
            "of clusters",
        );
      }
    }
    return fold;
  }

  // A standard deviation with NumPy's order of additions: in pairs along a row, one by one down a column.
  function deviation(values, inOrder = false) {
    const sum = inOrder ? (all) => all.reduce((a, b) => a + b, 0) : pairwise;
    const mean = sum(values) / values.length;
    return Math.sqrt(sum(values.map((value) => (value - mean) * (value - mean))) / values.length);
  }

  function pairwise(values) {
    const n = values.length;
    if (n < 8) return values.reduce((a, b) => a + b, 0);
    if (n > 128) {
      const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
      return pairwise(values.slice(0, half)) + pairwise(values.slice(half));
    }
    const r = Array.from(values.slice(0, 8));
    let i = 8;
    for (; i < n - (n % 8); i += 8) for (let j = 0; j < 8; j++) r[j] += values[i + j];
    let found = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
    for (; i < n; i++) found += values[i];
    return found;
  }

  // --- rows that methods are compared on -----------------------------------------------------------------------------

  // The rows to compare methods on, in whole clusters; null for all rows, if they are few enough. If a class is so rare
  // that few of its rows would be drawn, 100 rows (or 20 clusters) are, or all there are.
  function rowsToCompareOn(labels, cluster, seed) {
    const n = labels.length;
    if (n <= MOST_ROWS_TO_COMPARE_ON) return null;
    const rng = Draws.generator(seed);
    if (cluster) return rowsOfClusters(labels, cluster, rng);
    if (!hasRare(labels)) return Random.choice(rng, n, MOST_ROWS_TO_COMPARE_ON).sort();
    const wanted = counts(labels, largest(labels) + 1).map((count) =>
      Math.min(count, Math.max(Math.floor((count * MOST_ROWS_TO_COMPARE_ON) / n), FEWEST_ROWS_OF_RARE_CLASS)));
    return rng.permutation(n).filter((row) => wanted[labels[row]]-- > 0).sort();
  }

  function rowsOfClusters(labels, cluster, rng) {
    const nClusters = largest(cluster) + 1;
    const order = rng.permutation(nClusters);
    const sizes = counts(cluster, nClusters);
    const turn = new Int32Array(nClusters);
    let kept = 0;
    for (let i = 0, rows = 0; i < nClusters; i++) {
      turn[order[i]] = i;
      rows += sizes[order[i]];
      if (rows < MOST_ROWS_TO_COMPARE_ON) kept = i + 1;
    }
    kept = Math.max(kept, 10);
    const turns = Array.from({ length: largest(labels) + 1 }, () => new Set());
    for (let i = 0; i < labels.length; i++) turns[labels[i]].add(turn[cluster[i]]);
    for (const one of turns.filter(({ size }) => size > 0)) {
      const first = Int32Array.from(one).sort();
      kept = Math.max(kept, first[Math.min(FEWEST_CLUSTERS_OF_RARE_CLASS, first.length) - 1] + 1);
    }
    const rows = [];
    for (let i = 0; i < labels.length; i++) if (turn[cluster[i]] < kept) rows.push(i);
    return Int32Array.from(rows);
  }

  // Whether fewer than 100 rows of some class would be drawn.
  function hasRare(labels) {
    const each = counts(labels, largest(labels) + 1);
    return each.some((count) =>
      count > 0 && count * MOST_ROWS_TO_COMPARE_ON < FEWEST_ROWS_OF_RARE_CLASS * labels.length);
  }

  return { assigned, rowsToCompareOn, hasRare, counts, largest };
})();

if (typeof module !== "undefined") module.exports = Folds;
