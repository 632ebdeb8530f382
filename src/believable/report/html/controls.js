// What is looked at: the controls, and everything that follows from them.
const Page = (() => {
  "use strict";

  const audit = JSON.parse(document.getElementById("audit").textContent);
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
  const stages = ["before", "after"].filter((stage) => audit.slices.some((slice) => slice.stage === stage));

  function key(cls, group, stage) {
    return JSON.stringify([cls, group, stage]);
  }

  function cellsOf(cls, group, stage) {
    const slice = kept.get(key(cls, group, stage));
    if (slice && !slice.cells) slice.cells = Statistic.unpack(slice.data);
    return slice && slice.cells;
  }

  const start = {
    strategy: audit.strategy,
    bins: audit.strategy === "uniform" ? nearest(audit.bins) : Math.max(audit.bins, 2),
    class: null,
    group: null,
    stage: "before",
    band: true,
    smoothed: false,
    corp: false,
    zoom: Draw.reach(cellsOf(null, null, "before"))[1] <= 0.25,
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
    const cls = state.class === null ? "" : `, class ${classes[state.class]}`;
    const stage = stages.length > 1 ? `, ${state.stage} recalibration` : "";
    return `${group}${cls}${stage}`;
  }

  // Whether what is shown is what the audit's headline is about.
  function isHeadline() {
    return state.class === null && state.group === null && state.stage === "before" && state.strategy === "uniform" && audit.strategy === "uniform" && state.bins === audit.bins;
  }

  // --- showing -------------------------------------------------------------------------------------------------------

  function show() {
    const cells = cellsOf(state.class, state.group, state.stage);
    const found = numbers();
    const whole = state.class === null && state.group === null && state.stage === "before";
    const confidence = state.class === null && audit.confidence;
    const outside = Draw.diagram(at("picture"), {
      cells,
      bins: found.bins,
      lines: audit.lines.filter((line) => whole && state[line.method]),
      show: state,
      labels: confidence ? ["Mean confidence", "Accuracy"] : ["Mean predicted probability", "Observed frequency"],
      level,
      title: `Reliability diagram of ${selectionInWords()}, in ${binsInWords()}: ECE ${number(found.ece)}. Arrow keys move from bin to bin.`,
    });
    for (const name of ["ece", "chance", "mce", "rmsce"]) at(`live-${name}`).textContent = number(found[name]);
    for (const name of ["base", "mean"]) at(`live-${name}`).textContent = share(found[name]);
    at("live-n").textContent = count(found.n);
    at("live-bins").textContent = binsInWords();
    at("live-of").textContent = selectionInWords();
    at("live-heard").textContent = `: ECE ${number(found.ece)}`;
    const fewer = found.bins.length < state.bins ? `${found.bins.length} of ${state.bins} bins hold rows. ` : "";
    const beyond = outside ? `${outside} ${outside === 1 ? "point lies" : "points lie"} outside the zoomed frame. ` : "";
    at("live-note").textContent = fewer + beyond + ownWords();
    table(found.bins);
    keys(cells, found, isHeadline());
    controls(whole, cells);
    small("small-classes", classes, (i) => [i, null]);
    small("small-groups", groupNames, (i) => [null, i]);
  }

  function ownWords() {
    if (isHeadline()) return "These are the numbers of the answer above.";
    if (state.strategy === "uniform" && audit.strategy === "uniform" && audit.bins !== nearest(audit.bins)) {
      return `This page cannot show ${audit.bins} bins, as the audit has: its 840 cells do not divide into them.`;
    }
    const same = state.strategy === "quantile" && audit.strategy === "quantile" && state.bins === audit.bins;
    return `Computed in this page from 840 cells${same ? "; the audit cuts its bins at the scores themselves" : ""}.`;
  }

  // The key numbers of what is looked at: those of the audit, with their intervals, or what the cells say.
  const keyNumbers = [...document.querySelectorAll(".keys li")].map((item) => ({ item, name: item.dataset.key, shown: item.querySelector("strong").textContent }));

  function keys(cells, found, headline) {
    const here = headline ? {} : { ...Statistic.scores(cells), ece: found.ece };
    for (const { item, name, shown } of keyNumbers) {
      item.classList.toggle("elsewhere", !headline);
      item.querySelector("strong").textContent = headline ? shown : number(here[name] === undefined ? null : here[name]);
    }
    at("keys-of").textContent = headline ? "" : ` of ${selectionInWords()}`;
    at("keys-note").hidden = headline;
  }

  function table(bins) {
    const body = at("bins-table").tBodies[0];
    body.replaceChildren(...bins.map((bin) => {
      const way = Draw.reading(bin);
      const cells = [
        [`${edge(bin.low)} to ${edge(bin.high)}`, bin.low],
        [count(bin.n), bin.n],
        [share(bin.conf), bin.conf],
        [share(bin.acc), bin.acc],
        [number(bin.gap), bin.gap],
        [span(bin.lower, bin.upper), bin.lower],
        [`${Draw.MARKS[way]} ${Draw.READINGS[way]}`, Draw.READINGS[way]],
      ];
      return html("tr", {}, ...cells.map(([words, by], i) => html(i ? "td" : "th", { "data-v": by, ...(i ? {} : { scope: "row" }), ...(i === 6 ? { class: `words ${way}` } : {}) }, words)));
    }));
    at("bins-table").caption.firstChild.textContent = `Average predictions and observed rates in ${binsInWords()}; empty bins are left out.`;
    at("bins-words").textContent = `For ${selectionInWords()}. The table follows the controls of the diagram.`;
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

  function controls(whole, cells) {
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
  }

  // A control that cannot work says why.
  function able(control, can, why) {
    control.disabled = !can;
    const label = control.closest("label");
    if (can) label.removeAttribute("title");
    else label.setAttribute("title", why);
  }

  function select(name, there) {
    const chooser = at(name);
    if (!chooser) return;
    chooser.value = state[name] === null ? "" : state[name];
    for (const option of chooser.options) {
      option.disabled = !(option.value === "" ? there(null) : there(Number(option.value)));
      option.title = option.disabled ? "This page does not hold this combination." : option.dataset.name || "";
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
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 1) return;
      width = entry.contentRect.width;
      show();
    }).observe(at("picture"));
    map();
    copying();
    addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
    show();
  }

  // Copy a text to the clipboard, and say whether that worked.
  async function copy(text, said) {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser does not allow copying.";
    }
  }

  function copying() {
    if (!at("copy-command")) return;
    at("copy-command").addEventListener("click", () => copy(at("command").textContent, at("command-said")));
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
})();

Tables.begin();
Page.begin();
window.believable = Page; // for tests, and for the curious
