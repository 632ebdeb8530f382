// What is looked at: the controls, and everything that follows from them.
//
// `audit` is what page.py writes into the report. Its elements are in the document already.
function pageOf(audit) {
  "use strict";

  const at = (id) => document.getElementById(id);
  const { html, number, share, span, count, edge } = Draw;
  const MOST_QUANTILE = Math.max(40, audit.strategy === "quantile" ? audit.bins : 0);
  const nearest = (m) => Statistic.BIN_COUNTS.reduce((best, each) => (Math.abs(each - m) < Math.abs(best - m) ? each : best));
  const level = `${Number((100 * audit.level).toFixed(2))} %`;

  // --- what there is -------------------------------------------------------------------------------------------------

  // Classes and subgroups are known by their number in these lists; null stands for all of them.
  const { classes, groups } = audit;
  const groupNames = groups.map(({ column, level: name }) => `${column} = ${name}`);
  const kept = new Map(audit.slices.map((slice) => [key(slice.class, slice.group, slice.stage), slice]));
  const stages = [...new Set(audit.slices.map(({ stage }) => stage))];
  const stageInWords = (stage) => (audit.stages && audit.stages[stage]) || `${stage} recalibration`;

  function key(cls, group, stage) {
    return JSON.stringify([cls, group, stage]);
  }

  function cellsOf(cls, group, stage) {
    const slice = kept.get(key(cls, group, stage));
    if (slice && !slice.cells) slice.cells = Statistic.unpack(slice.data);
    return slice && slice.cells;
  }

  // Where nearly all rows lie in one or two uniform bins, such as the scores of a rare event, quantile bins show more.
  function full(bins) {
    const total = bins.reduce((sum, bin) => sum + bin.w, 0);
    return bins.filter((bin) => bin.w >= 0.01 * total).length;
  }
  const everything = cellsOf(null, null, "before");
  const fullAtFirst = audit.strategy === "uniform" ? full(Statistic.uniformBins(everything, nearest(audit.bins))) : Infinity;
  const crowded = fullAtFirst < 3 && full(Statistic.quantileBins(everything, Math.max(audit.bins, 2))) > fullAtFirst;

  const first = audit.slices[audit.start]; // what the answer is about
  const start = {
    strategy: crowded ? "quantile" : audit.strategy,
    bins: audit.strategy === "uniform" && !crowded ? nearest(audit.bins) : Math.min(Math.max(audit.bins, 2), MOST_QUANTILE),
    class: first.class,
    group: first.group,
    stage: "before",
    band: true,
    smoothed: false,
    corp: false,
    zoom: Draw.reach(everything)[1] <= 0.25,
  };
  const state = { ...start };

  // --- numbers -------------------------------------------------------------------------------------------------------

  function binsOf(cells) {
    const make = state.strategy === "uniform" ? Statistic.uniformBins : Statistic.quantileBins;
    return make(cells, state.bins, audit.level);
  }

  function numbers() {
    const cells = cellsOf(state.class, state.group, state.stage);
    const bins = binsOf(cells);
    const { n, weight, baseRate, meanScore } = Statistic.summary(cells);
    return { ...Statistic.errors(bins), chance: Statistic.byChance(cells, bins), n, weight, base: baseRate, mean: meanScore, bins };
  }

  function binsInWords() {
    return `${state.bins} ${state.strategy} bins`;
  }

  function selectionInWords() {
    const group = state.group === null ? "all rows" : groupNames[state.group];
    const cls = state.class === null ? "" : `, ${audit.kind === "multilabel" ? "label" : "class"} ${classes[state.class]}`;
    const stage = stages.length > 1 ? `, ${stageInWords(state.stage)}` : "";
    return `${group}${cls}${stage}`;
  }

  // Whether what is shown is what the audit's headline is about.
  function isHeadline() {
    return state.class === null && state.group === null && state.stage === "before" && state.strategy === "uniform" && audit.strategy === "uniform" && state.bins === audit.bins;
  }

  // --- showing -------------------------------------------------------------------------------------------------------

  // What the audit says about each of its bins: it allows for clusters and for all ranges that it looked at.
  const readings = [...at("bins-table").tBodies[0].rows].map((row) => {
    const words = row.cells[6].textContent;
    const ends = row.cells[5].textContent.split(" to ").map(Number);
    return { ends, low: Number(row.cells[0].dataset.v), way: words.startsWith("over") ? "high" : words.startsWith("under") ? "low" : "fine" };
  });
  const floor = at("live-chance").textContent;

  function show() {
    const cells = cellsOf(state.class, state.group, state.stage);
    const found = numbers();
    const terms = { ...(state.class === null && audit.confidence ? Draw.TERMS_OF_CONFIDENCE : Draw.TERMS) };
    if (audit.pooled && state.class === null) terms.rows = "predictions"; // one for each row and class
    for (const bin of isHeadline() ? found.bins : []) {
      const said = readings.find(({ low }) => Math.abs(low - bin.low) < 1e-6);
      bin.way = said ? said.way : "fine";
      if (said && audit.clustered) [bin.lower, bin.upper] = said.ends; // the cells know nothing of clusters
    }
    const whole = state.class === null && state.group === null && state.stage === "before";
    const confidence = state.class === null && audit.confidence;
    const outside = Draw.diagram(at("picture"), {
      cells,
      bins: found.bins,
      lines: audit.lines.filter((line) => whole && state[line.method]),
      show: state,
      labels: confidence ? ["Mean confidence", "Accuracy"] : ["Mean predicted probability", "Observed frequency"],
      level,
      terms,
      title: `Reliability diagram of ${selectionInWords()}, in ${binsInWords()}: ECE ${number(found.ece)}. Arrow keys move from bin to bin.`,
    });
    for (const name of ["ece", "chance", "mce", "rmsce"]) at(`live-${name}`).textContent = number(found[name]);
    for (const name of ["base", "mean"]) at(`live-${name}`).textContent = share(found[name]);
    if (isHeadline()) at("live-chance").textContent = floor;
    at("live-n").textContent = count(found.n);
    at("name-n").textContent = terms.rows;
    at("name-base").textContent = terms.rate;
    at("name-mean").textContent = terms.mean;
    for (const way of ["high", "low"]) at(`mark-${way}`).textContent = terms[way];
    at("live-bins").textContent = binsInWords();
    at("live-of").textContent = selectionInWords();
    at("live-heard").textContent = `: ECE ${number(found.ece)}`;
    const fewer = found.bins.length < state.bins ? `${found.bins.length} of ${state.bins} bins hold rows. ` : "";
    const beyond = outside ? `${outside} ${outside === 1 ? "point lies" : "points lie"} outside the zoomed frame. ` : "";
    at("live-note").textContent = fewer + beyond + ownWords();
    table(found.bins, terms);
    keys(cells, found, whole);
    controls(whole, cells);
    small("small-classes", classes, (i) => [i, null]);
    small("small-groups", groupNames, (i) => [null, i]);
  }

  function ownWords() {
    if (isHeadline()) return "These are the numbers of the answer above.";
    if (crowded && state.strategy === "quantile") {
      return `Quantile bins, because nearly all rows lie in ${fullAtFirst} of the ${audit.bins} uniform bins of the answer.`;
    }
    if (state.strategy === "uniform" && audit.strategy === "uniform" && audit.bins !== nearest(audit.bins)) {
      return `This page cannot show ${audit.bins} bins, as the audit has: its 840 cells do not divide into them.`;
    }
    const same = state.strategy === "quantile" && audit.strategy === "quantile" && state.bins === audit.bins;
    return `Computed in this page from 840 cells${same ? "; the audit cuts its bins at the scores themselves" : ""}.`;
  }

  // The key numbers of what is looked at: those of the audit, with their intervals, or what the cells say. They do not
  // follow the number of bins, which the audit chose.
  const keyNumbers = [...document.querySelectorAll(".keys li")].map((item) => ({
    name: item.dataset.key,
    item,
    value: item.querySelector("strong"),
    bins: item.querySelector(".what small"),
    ofAudit: [item.querySelector("strong").textContent, item.querySelector(".what small").textContent],
  }));

  function keys(cells, found, whole) {
    const here = whole ? {} : scoresOf(cells, found);
    for (const { name, item, value, bins, ofAudit } of keyNumbers) {
      item.classList.toggle("elsewhere", !whole);
      value.textContent = whole ? ofAudit[0] : number(here[name] === undefined ? null : here[name]);
      bins.textContent = !whole && name === "ece" ? binsInWords() : ofAudit[1];
    }
    at("keys-of").textContent = whole ? "" : ` of ${selectionInWords()}`;
    at("keys-note").hidden = whole;
  }

  // What the cells can say. Those of all classes together hold confidences, or the probabilities of all labels: their
  // scores are not those of the whole model, but for the accuracy and for means over labels.
  function scoresOf(cells, { ece, base }) {
    const { brier, nll, auc, slope } = Statistic.scores(cells);
    if (state.class !== null || audit.kind === "binary") return { ece, brier, nll, auc, slope };
    if (audit.kind === "multilabel") return { ece, brier, nll };
    return audit.confidence ? { ece, acc: base } : { ece };
  }

  function table(bins, terms) {
    const body = at("bins-table").tBodies[0];
    body.replaceChildren(...bins.map((bin) => {
      const { way } = bin;
      const cells = [
        [`${edge(bin.low)} to ${edge(bin.high)}`, bin.low],
        [count(bin.n), bin.n],
        [share(bin.conf), bin.conf],
        [share(bin.acc), bin.acc],
        [number(bin.gap), bin.gap],
        [span(bin.lower, bin.upper), bin.lower],
        [`${Draw.MARKS[way]} ${terms[way]}`, terms[way]],
      ];
      return html("tr", {}, ...cells.map(([words, by], i) => html(i ? "td" : "th", { "data-v": by, ...(i ? {} : { scope: "row" }), ...(i === 6 ? { class: `words ${way}` } : {}) }, words)));
    }));
    const heads = [terms.scores, terms.rows, terms.mean, terms.rate];
    [...at("bins-table").tHead.rows[0].cells].slice(0, 4).forEach((head, i) => {
      head.querySelector(".sort").textContent = heads[i][0].toUpperCase() + heads[i].slice(1);
    });
    const chosen = selectionInWords();
    at("bins-table").caption.firstChild.textContent = `${chosen[0].toUpperCase()}${chosen.slice(1)}, in ${binsInWords()}; empty bins are left out.`;
    Tables.again(at("bins-table"));
  }

  // A row of small diagrams to choose from.
  function small(id, names, selection) {
    const holder = at(id);
    if (!holder) return;
    const shown = names.map((name, i) => [name, selection(i), cellsOf(...selection(i), state.stage)]).filter(([, , cells]) => cells);
    const focused = [...holder.children].indexOf(document.activeElement);
    holder.replaceChildren(...shown.map(([name, [cls, group], cells]) => {
      const bins = binsOf(cells);
      const chosen = state.class === cls && state.group === group;
      const ece = `ECE ${number(Statistic.errors(bins).ece)}`;
      const made = html("button", { type: "button", "aria-pressed": chosen, title: `${name}: ${ece} in ${binsInWords()}` });
      made.append(Draw.small(bins), html("bdi", {}, name), html("small", {}, ece));
      made.addEventListener("click", () => set(chosen ? { class: null, group: null } : { class: cls, group }));
      return made;
    }));
    if (focused >= 0) holder.children[focused].focus();
  }

  // --- the controls themselves ---------------------------------------------------------------------------------------

  let reasons = new Set();

  function controls(whole, cells) {
    reasons = new Set();
    const uniform = state.strategy === "uniform";
    const slider = at("bins");
    slider.min = uniform ? 0 : 2;
    slider.max = uniform ? Statistic.BIN_COUNTS.length - 1 : MOST_QUANTILE;
    slider.value = uniform ? Statistic.BIN_COUNTS.indexOf(state.bins) : state.bins;
    slider.setAttribute("aria-valuetext", `${state.bins} bins`);
    at("bins-shown").textContent = state.bins;
    for (const [name, value] of [["strategy", state.strategy], ["stage", state.stage]]) {
      for (const radio of document.getElementsByName(name)) radio.checked = radio.value === value;
    }
    select("class", (i) => kept.has(key(i, state.group, state.stage)));
    select("group", (i) => kept.has(key(state.class, i, state.stage)));
    for (const radio of document.getElementsByName("stage")) {
      able(radio, kept.has(key(state.class, state.group, radio.value)), "This page does not hold the selection after recalibration.");
    }
    for (const layer of ["band", "smoothed", "corp", "zoom"]) at(layer).checked = state[layer];
    for (const layer of ["smoothed", "corp"]) able(at(layer), whole, "Curves are drawn for all rows before recalibration only.");
    const [low, high] = Draw.reach(cells);
    at("zoom").closest("label").hidden = high - low > 0.6 && !state.zoom;
    at("controls-why").textContent = [...reasons].join(" ");
    at("controls-why").hidden = !reasons.size;
  }

  // A control that cannot work says why.
  function able(control, can, why) {
    control.disabled = !can;
    if (!can && !control.closest("label").hidden) reasons.add(why);
  }

  function select(name, there) {
    const chooser = at(name);
    if (!chooser) return;
    chooser.value = state[name] === null ? "" : state[name];
    for (const option of chooser.options) {
      option.disabled = !(option.value === "" ? there(null) : there(Number(option.value)));
      option.title = option.dataset.name || "";
      if (option.disabled) reasons.add("Combinations of class and subgroup that this page does not hold are greyed out.");
    }
  }

  // Change what is looked at. A class may be given by name, a subgroup as {column, level}.
  function set(change) {
    const next = { ...state, ...change };
    if (typeof next.class === "string") next.class = classes.indexOf(next.class);
    if (next.group !== null && typeof next.group === "object") {
      next.group = groups.findIndex(({ column, level: name }) => column === next.group.column && name === next.group.level);
    }
    if (!kept.has(key(next.class, next.group, next.stage))) throw new RangeError("the page does not hold this selection");
    if (change.strategy && change.bins === undefined) next.bins = Math.min(next.bins, MOST_QUANTILE);
    if (next.strategy === "uniform") next.bins = nearest(next.bins);
    Object.assign(state, next);
    show();
  }

  function fill(name, words) {
    const chooser = at(name);
    if (!chooser) return;
    words.forEach((word, i) => {
      const cut = word.length > 48 ? `${word.slice(0, 47)}…` : word;
      chooser.append(html("option", { value: i, title: word, "data-name": word }, cut));
    });
    chooser.addEventListener("change", () => set({ [name]: chooser.value === "" ? null : Number(chooser.value) }));
  }

  function begin() {
    document.documentElement.classList.add("js");
    fill("class", classes);
    fill("group", groupNames);
    at("bins").addEventListener("input", () => {
      const value = Number(at("bins").value);
      set({ bins: state.strategy === "uniform" ? Statistic.BIN_COUNTS[value] : value });
    });
    for (const name of ["strategy", "stage"]) {
      for (const radio of document.getElementsByName(name)) radio.addEventListener("change", () => set({ [name]: radio.value }));
    }
    for (const layer of ["band", "smoothed", "corp", "zoom"]) {
      at(layer).addEventListener("change", () => set({ [layer]: at(layer).checked }));
    }
    at("reset").addEventListener("click", () => set(start));
    let width = 0;
    new ResizeObserver(([entry], observer) => {
      if (!entry.target.isConnected) observer.disconnect(); // another result has taken its place
      if (!entry.target.isConnected || Math.abs(entry.contentRect.width - width) < 1) return;
      width = entry.contentRect.width;
      show();
    }).observe(at("picture"));
    map();
    copying();
    addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
    show();
  }

  // Copy a text to the clipboard and say so, or select it where it is shown.
  async function copy(text, said, shown = null) {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      said.textContent = shown ? "Selected: press Ctrl+C to copy." : "The browser does not allow copying.";
      if (shown) getSelection().selectAllChildren(shown);
    }
  }

  function copying() {
    if (!at("copy-command")) return;
    at("copy-command").addEventListener("click", () => copy(at("command").textContent, at("command-said"), at("command")));
  }

  function map() {
    if (!at("save-map")) return;
    at("save-map").addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([audit.map], { type: "application/json" }));
      html("a", { href: address, download: "map.json" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    at("copy-map").addEventListener("click", () => copy(audit.map, at("map-said")));
  }

  return { begin, set, numbers, get state() { return { ...state }; } };
}
