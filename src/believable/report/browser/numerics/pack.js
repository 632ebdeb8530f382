// 840 cells as a string, for the diagram: what `report/packed.py` packs, and `statistic.js` unpacks.
const Pack = (() => {
  "use strict";

  const [N_CELLS, PLACES, LIGHTEST] = [840, 65536, 1.1754943508222875e-38];

  // The 840 cells of points: cell 0 is {0}, cell 841 is {1}, cell c between them is ((c-1)/840, c/840].
  function cellsOf(points) {
    const cells = [];
    let last = -1;
    for (let i = 0; i < points.score.length; i++) {
      const p = points.score[i];
      let key = 0;
      if (p === 1) key = N_CELLS + 1;
      else if (p > 0) {
        key = Math.floor(p * N_CELLS);
        if (key > 0 && p <= key / N_CELLS) key--;
        else if (p > (key + 1) / N_CELLS) key++;
        key++;
      }
      if (key !== last) cells.push({ key, n: 0, ny: 0, w: 0, wp: 0, wy: 0, w2: 0 });
      last = key;
      const cell = cells[cells.length - 1];
      cell.n += points.n[i];
      cell.ny += points.ny[i];
      cell.w += points.w[i];
      cell.wp += points.w[i] * p;
      cell.wy += points.wy[i];
      cell.w2 += points.w2[i];
    }
    return cells;
  }

  function pack(points, weighted) {
    const cells = cellsOf(points);
    const bytes = [1, weighted ? 1 : 0];
    const heaviest = cells.reduce((most, { w }) => Math.max(most, w), 0);
    const scale = weighted ? 2 ** Math.floor(Math.log2(heaviest)) : 1;
    if (weighted) bytes.push(...new Uint8Array(Float64Array.of(scale).buffer));
    let previous = -1;
    for (const { key, n, ny, w, wp, wy, w2 } of cells) {
      varint(bytes, key - previous - 1);
      varint(bytes, n);
      if (key >= 1 && key <= N_CELLS) {
        const place = Curves.roundHalfEven(((wp / w) * N_CELLS - (key - 1)) * PLACES);
        const kept = Math.min(Math.max(place, 1), PLACES) - 1;
        bytes.push(kept & 255, kept >> 8);
      }
      if (weighted) float24(bytes, Math.max(w / scale, LIGHTEST));
      if (weighted && n > 1) float24(bytes, Math.min(w2 / (w * w), 1));
      varint(bytes, ny);
      if (weighted && ny > 0 && ny < n) float24(bytes, Math.min(Math.max(wy / w, 0), 1));
      previous = key;
    }
    const crc = crc32(bytes);
    for (let shift = 0; shift < 32; shift += 8) bytes.push((crc >>> shift) & 255);
    return base64(bytes);
  }

  function varint(bytes, value) {
    let rest = value;
    while (rest >= 128) {
      bytes.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
  }

  // A float32 rounded to its upper three bytes.
  function float24(bytes, value) {
    const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
    const kept = Math.floor((bits + 128) / 256);
    bytes.push(kept & 255, (kept >>> 8) & 255, (kept >>> 16) & 255);
  }

  function crc32(bytes) {
    let crc = -1;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0;
  }

  function base64(bytes) {
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  }

  // A slice of a report: the cells of one curve.
  function slice(points, { className = null, column = null, level = null, stage = "before", notion = "binary", nClasses = 2, pairs = false, weighted = false }) {
    const view = { notion, n_classes: nClasses, r: null, threshold: null, pooled: false, multilabel: false, group: null };
    if (pairs) view.are_pairs = true;
    return { class_name: className, column, level, stage, cells: { schema: "believable.PackedCells", version: 1, view, data: pack(points, weighted) } };
  }

  return { slice };
})();

if (typeof module !== "undefined") module.exports = Pack;
