// Draw the layers of a figure as SVG, and say what they say at one place.

/** Columns that belong into one table: those of layers with the same x. */
const groups = (figure) => {
  const found = new Map();
  const level = (name) => /^q\d\d$/.test(name);
  for (const layer of figure.layers) {
    if (!layer.name) continue; // a line to guide the eye
    const names = found.get(layer.x) || found.set(layer.x, new Set([layer.x])).get(layer.x);
    for (const name of [layer.to, layer.y, layer.low, layer.high, layer.size, layer.probability]) if (name) names.add(name);
  }
  // Quantiles in ascending order, whatever the order of the bands.
  const inOrder = (names) => { const levels = names.filter(level).sort(); return names.map((name) => (level(name) ? levels.shift() : name)); };
  return [...found.values()].map((names) => inOrder([...names]));
};

/** What a layer says at one place. */
const reading = (chart, layer, i) => {
  const text = (name) => short(chart.column(name)[i]);
  const size = layer.size ? `size ${text(layer.size)}` : "";
  const sure = layer.probability ? `, probability ${text(layer.probability)}` : "";
  if (size) return size + (layer.low ? ` (${text(layer.low)} to ${text(layer.high)})` : "") + sure;
  if (layer.low) return (layer.y ? `${text(layer.y)} ` : "") + `${text(layer.low)} to ${text(layer.high)}` + sure;
  return known(chart.column(layer.y)[i]) ? text(layer.y) + sure : "";
};

/** A size with two digits: 5.0, 0.37, 120. */
const twoDigits = (size) => (size >= 10 || size < 1e-3 ? String(Number(size.toPrecision(2))) : size.toPrecision(2));

/** A small picture of a layer for legend and hover. */
const sample = (layer) => {
  const svg = node("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }), paint = color(layer);
  const dash = layer.dash ? { "stroke-dasharray": "4 3" } : {};
  if (layer.kind === "band") svg.append(node("rect", { x: 0, y: 1, width: 22, height: 10, fill: paint, opacity: layer.strong ? 0.4 : 0.18 }));
  else if (layer.kind === "bars") svg.append(node("rect", { x: 4, y: 1, width: 14, height: 10, fill: paint, opacity: 0.55 }));
  else if (layer.kind === "points") svg.append(node("circle", { cx: 11, cy: 6, r: 3, fill: paint }));
  else if (layer.kind === "marks") svg.append(node("polygon", { points: "11,1 16,10 6,10", fill: paint }));
  else if (layer.kind === "whiskers") svg.append(node("path", { d: "M11 0V12", stroke: paint, "stroke-width": 1.5 }), node("circle", { cx: 11, cy: 6, r: 3, fill: paint }));
  else svg.append(node("line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: paint, "stroke-width": layer.thin ? 1 : 2, ...dash }));
  return svg;
};

/** Per column of pixels the first, lowest, highest and last place, so that nothing that would be seen is lost. */
const thin = (chart, layer, x, values, first, last) => {
  const xs = chart.column(layer.x), keep = [];
  if (last - first < 3 * chart.inner) { for (let i = first; i < last; i++) keep.push(i); return keep; }
  let pixel = null, group = [];
  const flush = () => {
    if (group.length === 0) return;
    const seen = group.filter((i) => known(values[i]));
    const by = (better) => seen.reduce((a, b) => (better(values[b], values[a]) ? b : a), seen[0]);
    const four = seen.length ? [group[0], by((b, a) => b < a), by((b, a) => b > a), group[group.length - 1]] : [group[0]];
    keep.push(...[...new Set(four)].sort((a, b) => a - b));
  };
  for (let i = first; i < last; i++) {
    const at = Math.floor(x(xs[i]));
    if (at !== pixel) { flush(); group = []; pixel = at; }
    group.push(i);
  }
  flush();
  return keep;
};
const painters = {
  line(chart, layer, x, y) {
    const xs = chart.column(layer.x), ys = chart.column(layer.y), { x: xAxis, y: yAxis } = chart.figure;
    const [first, last] = chart.slice(layer, ...chart.view), dense = last - first > chart.inner;
    let d = "", pen = false;
    for (const i of thin(chart, layer, x, ys, first, last)) {
      const seen = usable(xAxis, xs[i]) && usable(yAxis, ys[i]);
      if (seen) d += `${pen ? "L" : "M"}${x(xs[i])} ${y(ys[i])}`;
      pen = seen;
    }
    const dash = layer.dash ? { "stroke-dasharray": "6 4" } : {};
    return [node("path", { d, fill: "none", stroke: color(layer), "stroke-width": layer.thin ? (dense ? 0.6 : 0.9) : dense ? 1.1 : 1.7, "stroke-linejoin": "round", opacity: layer.thin ? 0.85 : 1, ...dash })];
  },
  band(chart, layer, x, y) {
    const xs = chart.column(layer.x), low = chart.column(layer.low), high = chart.column(layer.high);
    const [first, last] = chart.slice(layer, ...chart.view), yAxis = chart.figure.y;
    const upper = thin(chart, layer, x, high, first, last), lower = thin(chart, layer, x, low, first, last);
    const edge = (list, values) => list.filter((i) => usable(yAxis, values[i])).map((i) => `${x(xs[i])} ${y(values[i])}`);
    const outline = [...edge(upper, high), ...edge(lower, low).reverse()];
    return outline.length ? [node("path", { d: `M${outline.join("L")}Z`, fill: color(layer), opacity: layer.strong ? 0.34 : 0.17 })] : [];
  },
  points(chart, layer, x, y) {
    const xs = chart.column(layer.x), ys = chart.column(layer.y), { x: xAxis, y: yAxis } = chart.figure;
    const [first, last] = chart.slice(layer, ...chart.view), dense = (last - first) / chart.inner;
    let d = "";
    for (const i of thin(chart, layer, x, ys, first, last)) if (usable(xAxis, xs[i]) && usable(yAxis, ys[i])) d += `M${x(xs[i])} ${y(ys[i])}h0`;
    const size = layer.large ? 6 : dense > 1.5 ? 1.8 : dense > 0.5 ? 2.4 : dense > 0.15 ? 3.2 : 4.2;
    return [node("path", { d, fill: "none", stroke: color(layer), "stroke-width": size, "stroke-linecap": "round", opacity: dense > 1.5 ? 0.55 : 0.75 })];
  },
  whiskers(chart, layer, x, y) {
    const column = (name) => chart.column(name), [first, last] = chart.slice(layer, ...chart.view);
    let bars = "", dots = "";
    for (let i = first; i < last; i++) {
      const at = x(column(layer.x)[i]);
      if (known(column(layer.low)[i])) bars += `M${at} ${y(column(layer.low)[i])}V${y(column(layer.high)[i])}`;
      if (known(column(layer.y)[i])) dots += `M${at} ${y(column(layer.y)[i])}h0`;
    }
    const crowded = (last - first) / chart.inner > 0.3;
    return [node("path", { d: bars, stroke: color(layer), "stroke-width": crowded ? 0.7 : 1.2, opacity: 0.6 }), node("path", { d: dots, stroke: color(layer), "stroke-width": crowded ? 3 : 5, "stroke-linecap": "round" })];
  },
  bars(chart, layer, x, y) {
    const from = chart.column(layer.x), to = chart.column(layer.to), heights = chart.column(layer.y);
    return heights.map((height, i) => node("rect", { x: x(from[i]) + 0.5, width: Math.max(0.5, x(to[i]) - x(from[i]) - 1), y: y(height), height: Math.max(0, y(0) - y(height)), fill: color(layer), opacity: 0.55 }));
  },
  /** Triangles that point where the jump went; the largest in view carry their size. */
  marks(chart, layer, x, y) {
    const column = (name) => chart.column(name), [first, last] = chart.slice(layer, ...chart.view), made = [];
    const order = [];
    for (let i = first; i < last; i++) {
      const at = x(column(layer.x)[i]), up = column(layer.size)[i] > 0, height = y(column(layer.y)[i]);
      const s = up ? -1 : 1, tip = height - 3 * s;
      made.push(node("polygon", { points: `${at},${tip + 7 * s} ${at - 4.5},${tip - s} ${at + 4.5},${tip - s}`, fill: color(layer) }));
      // Within the drawing, beyond which it would be cut.
      const written = Math.min(chart.bottom - 3, Math.max(18, height + 14 * s + (up ? 0 : 8)));
      order.push([Math.abs(column(layer.size)[i]), i, at, written]);
    }
    const taken = [];
    order.sort((a, b) => b[0] - a[0]);
    for (const [, i, at, height] of order.slice(0, 60)) {
      if (taken.some(([px, py]) => Math.abs(px - at) < 34 && Math.abs(py - height) < 13) || at < chart.left + 14 || at > chart.left + chart.inner - 14) continue;
      taken.push([at, height]);
      const size = column(layer.size)[i];
      made.push(node("text", { class: "size", x: at, y: height, "text-anchor": "middle" }, (size > 0 ? "+" : "−") + twoDigits(Math.abs(size))));
      if (taken.length === 14) break;
    }
    return made;
  },
};
