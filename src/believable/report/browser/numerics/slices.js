// The statistics behind the diagrams: 840 cells for every view, within a budget; `auditing/slices.py` says the same.
const Slices = (() => {
  "use strict";

  const PAGE_BUDGET = 170000; // characters of packed cells
  const ONE = { classes: "class", subgroups: "subgroup", "classes within subgroups": "class within a subgroup" };

  // The slices that fit, and a sentence on what was left out. Stages are {before: rows, after: rows or null}; groups are
  // the subgroups with their rows.
  function all(stages, settings, parts, subgroups, groups) {
    const rows = stages.before;
    const classes = parts.map((part) => rows.classes.map(String).indexOf(part.name));
    const worst = subgroups.map((part, k) => ({ part, here: groups[k].here })).sort((a, b) => (b.part.low || 0) - (a.part.low || 0));
    const keys = [{ k: null, sub: null }];
    for (const k of classes) keys.push({ k, sub: null, kind: "classes" });
    for (const sub of worst) keys.push({ k: null, sub, kind: "subgroups" });
    for (const k of classes) for (const sub of worst) keys.push({ k, sub, kind: "classes within subgroups" });
    const found = [];
    const left = new Map();
    let used = 0;
    for (const key of keys) {
      const made = Object.entries(stages).filter(([, one]) => one).map(([stage, one]) => slice(stage, one, settings, key));
      const size = made.reduce((total, one) => total + one.cells.data.length, 0);
      if ((used + size > PAGE_BUDGET && key.k !== null) || used + size > 2 * PAGE_BUDGET) {
        left.set(key.kind, (left.get(key.kind) || 0) + 1);
        continue;
      }
      used += size;
      found.push(...made);
    }
    const words = [...left].map(([kind, n]) => `${Words.grouped(n)} ${n > 1 ? kind : ONE[kind]}`).join(", ");
    return { slices: found, leftOut: words ? `Left out to keep the page small: ${words}.` : "" };
  }

  function slice(stage, rows, settings, { k, sub }) {
    const here = sub ? Rows.taken(rows, sub.here) : rows;
    const facts = { stage, weighted: isWeighted(here), column: sub && sub.part.column, level: sub && sub.part.name };
    if (k !== null) {
      const points = Count.pointsOf(Rows.curves(here, "classwise")[k]);
      return Pack.slice(points, { ...facts, className: String(rows.classes[k]) });
    }
    const points = Count.pointsOf(Rows.curves(here, settings.notion)[0]);
    return Pack.slice(points, { ...facts, notion: settings.notion, nClasses: rows.nClasses, pairs: rows.pairs });
  }

  // Weights of 1 are as good as none.
  function isWeighted({ weights }) {
    return weights !== null && weights.some((w) => w !== 1);
  }

  return { all };
})();

if (typeof module !== "undefined") module.exports = Slices;
