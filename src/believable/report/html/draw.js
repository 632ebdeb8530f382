// Pictures: SVG elements from bins. Text is only ever set as text, so that a name from a file stays a name.
const Draw = (() => {
  "use strict";

  // The namespace of SVG is taken from a picture that is there: no address stands in a page that needs no network.
  const NAMESPACE = document.querySelector("svg").namespaceURI;
  const MARKS = { high: "▼", low: "▲", fine: "●" };
  const TERMS = { scores: "Scores", mean: "average prediction", rate: "observed rate", rows: "rows", high: "over-predicts", low: "under-predicts", fine: "may be noise" };
  const TERMS_OF_CONFIDENCE = { ...TERMS, scores: "Confidences", mean: "average confidence", rate: "accuracy", high: "over-confident", low: "under-confident" };
  const COLUMNS = [40, 60, 120, 210, 420, 840]; // of the histogram, the fewest that show something
  const Z = 1.959963984540054; // the central 95 % of a normal distribution

  function svg(name, attributes = {}, ...children) {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function html(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // --- words ---------------------------------------------------------------------------------------------------------

  // Four digits after the point; two that count for small numbers, and none of those that four digits round to 0.
  // The same as `number` in words.py.
  function number(value) {
    return value !== null && Math.abs(value) < 0.00005 ? "0.0000" : share(value);
  }

  // The same as `share` in words.py: the rate of a rare event is small, and matters.
  function share(value) {
    if (value === null || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "infinite" : "−infinite";
    const size = Math.abs(value);
    const digits = size > 0 && size < 0.001 ? Math.min(1 - Number(size.toExponential(1).split("e")[1]), 8) : 4;
    return (value < 0 ? "−" : "") + size.toFixed(digits);
  }

  // The same as `span_of_shares` in words.py: with very many rows, the digits it takes to tell the ends apart.
  function span(low, high) {
    const digits = low < high ? Math.min(Math.max(4, -Math.floor(Math.log10(high - low))), 10) : 4;
    return digits === 4 ? `${share(low)} to ${share(high)}` : `${low.toFixed(digits)} to ${high.toFixed(digits)}`;
  }

  function count(value) {
    return Math.round(value).toLocaleString("en-GB");
  }

  function edge(value) {
    return String(Number(value.toFixed(4)));
  }

  function words(bin, level, terms) {
    return [
      `${terms.scores} ${edge(bin.low)} to ${edge(bin.high)}: ${count(bin.n)} ${bin.n === 1 ? terms.rows.slice(0, -1) : terms.rows}`,
      `${terms.mean} ${share(bin.conf)}, ${terms.rate} ${share(bin.acc)}`,
      `${level} interval ${span(bin.lower, bin.upper)}`,
      terms[bin.way],
    ];
  }

  // --- frames --------------------------------------------------------------------------------------------------------

  // Where the scores begin and end, but for the outermost half per cent of the weight at either end.
  function reach(cells) {
    const total = cells.w.reduce((sum, w) => sum + w, 0);
    const end = (index) => Math.min(Math.max(index, 0), Statistic.N_CELLS) / Statistic.N_CELLS;
    let below = 0;
    const upTo = cells.w.map((w) => (below += w / total));
    const first = upTo.findIndex((share) => share > 0.005);
    const last = upTo.findIndex((share) => share >= 0.995);
    return [end(cells.index[first] - 1), end(cells.index[last < 0 ? upTo.length - 1 : last])];
  }

  // The ends of the axes: all of 0 to 1, or where the scores are. Bins with few rows may lie outside.
  function frame(cells, bins, zoomed) {
    if (!zoomed) return { x: [0, 1], y: [0, 1] };
    const total = bins.reduce((sum, bin) => sum + bin.w, 0);
    const large = bins.filter((bin) => bin.w >= 0.01 * total);
    const [low, high] = reach(cells);
    const means = large.map((bin) => bin.conf);
    const rates = large.map((bin) => bin.acc);
    const x = rounded(Math.min(low, ...means), Math.max(high, ...means));
    return { x, y: rounded(Math.min(x[0], ...rates), Math.max(x[1], ...rates)) };
  }

  function rounded(low, high) {
    const by = step(high - low);
    return [Math.max(Math.floor(low / by + 1e-9) * by, 0), Math.min(Math.ceil(high / by - 1e-9) * by, 1)];
  }

  // A round distance between ticks, about five to the axis.
  function step(length) {
    const rough = Math.max(length, 1e-6) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 2.5, 5, 10].find((times) => times * power >= rough * 0.999) * power;
  }

  function ticks([low, high]) {
    const by = step(high - low);
    const first = Math.ceil(low / by - 1e-9);
    return Array.from({ length: Math.floor(high / by + 1e-9) - first + 1 }, (_, i) => (first + i) * by);
  }

  // --- the band of noise ---------------------------------------------------------------------------------------------

  // Where the rate of a bin lies in about 95 % of samples if the scores are calibrated: its mean score plus or minus
  // 1.96 standard deviations. Wilson's interval inverts the same test for a single score, so a point outside the band is
  // one whose interval misses the diagonal, up to the spread of scores within the bin.
  function byChance(cells, bin) {
    const half = (Z * Statistic.deviation(cells, bin)) / bin.w;
    return [Math.max(bin.conf - half, 0), Math.min(bin.conf + half, 1)];
  }

  // --- the diagram ---------------------------------------------------------------------------------------------------

  // Draws into a holder: the band, the curves, the points with their intervals, the histogram. `show` has the layers.
  function diagram(holder, { cells, bins, lines, show, labels, level, title, terms }) {
    const width = Math.max(Math.min(holder.clientWidth, 440), 240);
    const [left, right, top, strip] = [46, 14, 8, 60];
    const side = width - left - right;
    const foot = top + side + 8 + strip;
    const ends = frame(cells, bins, show.zoom);
    const scale = ([low, high], start, length) => (value) => start + (length * (value - low)) / (high - low);
    const x = scale(ends.x, left, side);
    const y = scale(ends.y, top + side, -side);

    const picture = svg("svg", { viewBox: `0 0 ${width} ${foot + 36}`, width, height: foot + 36, role: "group" });
    picture.setAttribute("aria-label", title);
    const clip = svg("clipPath", { id: "inside" }, svg("rect", { x: left, y: top, width: side, height: side }));
    const inside = svg("g", { "clip-path": "url(#inside)" });
    picture.append(svg("defs", {}, clip), grid(ends, x, y, left, top, side, foot, labels));
    picture.append(inside, histogram(cells, ends, x, foot, strip));
    if (show.band) inside.append(band(bins.map((bin) => [bin.conf, ...byChance(cells, bin)]), x, y, "chance"));
    inside.append(path([[0, 0], [1, 1]], x, y, "diagonal"));
    for (const line of lines) {
      const points = line.x.map((at, i) => [at, line.low[i], line.high[i]]);
      inside.append(band(points, x, y, `around ${line.method}`));
      inside.append(path(line.x.map((at, i) => [at, line.y[i]]), x, y, `curve ${line.method}`));
    }
    inside.append(path(bins.map((bin) => [bin.conf, bin.acc]), x, y, "joined"));
    for (const bin of bins) inside.append(path([[bin.conf, bin.lower], [bin.conf, bin.upper]], x, y, "interval"));

    const tip = html("div", { class: "tip", "aria-hidden": "true", hidden: "" });
    const points = svg("g", { class: "points" });
    const within = (value, [low, high]) => value >= low && value <= high;
    const seen = bins.filter((bin) => within(bin.conf, ends.x) && within(bin.acc, ends.y));
    seen.forEach((bin, i) => points.append(point(bin, i, x(bin.conf), y(bin.acc), words(bin, level, terms), tip, width)));
    arrows(points);
    picture.append(points);
    holder.replaceChildren(picture, tip);
    return bins.length - seen.length;
  }

  function grid(ends, x, y, left, top, side, foot, labels) {
    const made = svg("g", { class: "grid", "aria-hidden": "true" });
    for (const at of ticks(ends.x)) {
      made.append(svg("path", { d: `M${x(at)} ${top}V${foot}` }));
      made.append(svg("text", { x: x(at), y: foot + 14, "text-anchor": "middle" }, edge(at)));
    }
    for (const at of ticks(ends.y)) {
      made.append(svg("path", { d: `M${left} ${y(at)}H${left + side}` }));
      made.append(svg("text", { x: left - 6, y: y(at), dy: "0.35em", "text-anchor": "end" }, edge(at)));
    }
    const middle = top + side / 2;
    const turned = { transform: `rotate(-90 12 ${middle})`, x: 12, y: middle, "text-anchor": "middle" };
    made.append(svg("text", { x: left + side / 2, y: foot + 31, "text-anchor": "middle", class: "label" }, labels[0]));
    made.append(svg("text", { ...turned, class: "label" }, labels[1]));
    made.append(svg("rect", { x: left, y: top, width: side, height: side, class: "frame" }));
    return made;
  }

  function path(points, x, y, name) {
    return svg("path", { class: name, d: points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(2)} ${y(b).toFixed(2)}`).join("") });
  }

  // Between two lines; bars where there are so few points that nothing is known between them.
  function band(points, x, y, name) {
    if (points.length < 4) {
      const bars = points.map(([at, low, high]) => ({ x: x(at) - 7, width: 14, y: y(high), height: Math.max(y(low) - y(high), 0) }));
      return svg("g", { class: name }, ...bars.map((bar) => svg("rect", bar)));
    }
    const upper = points.map(([at, , high]) => `${x(at).toFixed(2)} ${y(high).toFixed(2)}`);
    const lower = points.map(([at, low]) => `${x(at).toFixed(2)} ${y(low).toFixed(2)}`).reverse();
    return svg("path", { class: name, d: `M${[...upper, ...lower].join("L")}Z` });
  }

  function histogram(cells, ends, x, foot, height) {
    const made = svg("g", { class: "histogram", "aria-hidden": "true" });
    const columns = COLUMNS.find((m) => m * (ends.x[1] - ends.x[0]) >= 28) || 840;
    const shares = Statistic.density(cells, columns);
    const most = Math.max(...shares);
    shares.forEach((share, i) => {
      const [low, high] = [i / columns, (i + 1) / columns];
      if (!share || high <= ends.x[0] || low >= ends.x[1]) return;
      const tall = Math.max((height * share) / most, 1);
      const box = { x: x(low) + 0.5, width: Math.max(x(high) - x(low) - 1, 1), y: foot - tall, height: tall };
      made.append(svg("rect", box, svg("title", {}, `Scores ${edge(low)} to ${edge(high)}: ${(100 * share).toFixed(1)} % of rows`)));
    });
    return made;
  }

  // A bin: one mark, its words for those who cannot see it, and a tip for those who can.
  function point({ way }, i, x, y, said, tip, width) {
    const shapes = { high: "M-6 -4.5H6L0 6.5Z", low: "M-6 4.5H6L0 -6.5Z", fine: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z" };
    const made = svg("g", { class: `point ${way}`, transform: `translate(${x} ${y})`, tabindex: i ? -1 : 0, role: "img" });
    made.setAttribute("aria-label", said.join("; "));
    made.append(svg("circle", { r: 12, class: "hit" }), svg("path", { d: shapes[way] }));
    const show = () => {
      tip.replaceChildren(...said.map((line, k) => html("div", k === 3 ? { class: way } : {}, k === 3 ? `${MARKS[way]} ${line}` : line)));
      tip.hidden = false;
      tip.style.left = `${Math.min(Math.max(x - 115, 0), Math.max(width - 240, 0))}px`;
      tip.style.top = y > 120 ? `${y - 14 - tip.offsetHeight}px` : `${y + 14}px`;
    };
    const hide = () => { tip.hidden = true; };
    made.addEventListener("pointerenter", show);
    made.addEventListener("pointerleave", () => { if (document.activeElement !== made) hide(); });
    made.addEventListener("focus", show);
    made.addEventListener("blur", hide);
    made.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    return made;
  }

  // One stop of the tab key for all points; the arrow keys move between them.
  function arrows(points) {
    points.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const all = [...points.children];
      const next = all[all.indexOf(document.activeElement) + by];
      if (!by || !next) return;
      event.preventDefault();
      for (const one of all) one.setAttribute("tabindex", one === next ? 0 : -1);
      next.focus();
    });
  }

  // A small diagram without words, for a row of them.
  function small(bins) {
    const size = 96;
    const at = (value) => 3 + (size - 6) * value;
    const up = (value) => size - at(value);
    const made = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, "aria-hidden": "true" });
    made.append(svg("rect", { x: 3, y: 3, width: size - 6, height: size - 6, class: "frame" }));
    made.append(path([[0, 0], [1, 1]], at, up, "diagonal"), path(bins.map((bin) => [bin.conf, bin.acc]), at, up, "joined"));
    for (const bin of bins) made.append(svg("circle", { cx: at(bin.conf), cy: up(bin.acc), r: 2.5, class: `point ${bin.way}` }));
    return made;
  }

  return { diagram, small, svg, html, number, share, span, count, edge, reach, byChance, MARKS, TERMS, TERMS_OF_CONFIDENCE };
})();
