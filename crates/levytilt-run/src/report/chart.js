// A figure that can be looked at closely: zoom, hover, lines to switch off, a table of its numbers.
const figures = JSON.parse(document.getElementById("figures").textContent);
const views = new Map(); // what part of x is seen, by figure or by group of figures that move together
const drawn = []; // all charts
let paper = false; // whether the page is on its way to a printer

class Chart {
  constructor(host, figure) {
    this.figure = figure;
    this.host = host;
    this.key = figure.link || figure.id;
    this.off = new Set(figure.layers.map((layer, k) => (layer.hidden ? k : -1)).filter((k) => k >= 0));
    this.column = (name) => figure.columns[name].values;
    this.whole = this.extent();
    this.build();
    drawn.push(this);
    this.draw();
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  /** Ends of x over all layers, on the drawing scale. */
  extent() {
    const { x: axis, layers, x_range } = this.figure;
    if (x_range) return x_range.map((value) => forward(axis, value));
    let low = Number.MAX_VALUE, high = -Number.MAX_VALUE;
    for (const layer of layers)
      for (const name of layer.kind === "bars" ? [layer.x, layer.to] : [layer.x])
        for (const value of this.column(name))
          if (usable(axis, value)) { const at = forward(axis, value); low = Math.min(low, at); high = Math.max(high, at); }
    if (!(low < high)) { low -= 0.5; high = low + 1; }
    const pad = (high - low) * 0.015;
    return [low - pad, high + pad];
  }

  get view() { return views.get(this.key) || this.whole; }
  set view([low, high]) {
    const [first, last] = this.whole, span = Math.min(high - low, last - first);
    if (span < (last - first) * 1e-5) return;
    low = Math.max(first, Math.min(low, last - span));
    if (span >= (last - first) * 0.9999) views.delete(this.key); else views.set(this.key, [low, low + span]);
    drawn.filter((chart) => chart.key === this.key).forEach((chart) => chart.draw());
  }

  zoom(factor, at = 0.5) {
    const [low, high] = this.view, middle = low + at * (high - low);
    this.view = [middle - (middle - low) * factor, middle + (high - middle) * factor];
  }
  move(share) { const [low, high] = this.view, by = share * (high - low); this.view = [low + by, high + by]; }
  reset() { this.view = this.whole; }

  build() {
    const { figure } = this;
    const button = (text, label, act) => {
      const made = node("button", { type: "button", "aria-label": `${label}: ${figure.title}`, title: label }, text);
      made.addEventListener("click", act);
      return made;
    };
    const zoom = node("div", { class: "zoom" }, button("+", "Zoom in", () => this.zoom(0.5)), " ",
      button("−", "Zoom out", () => this.zoom(2)), " ", button("◀", "Move left", () => this.move(-0.25)), " ",
      button("▶", "Move right", () => this.move(0.25)), " ", button("⟲", "Reset zoom", () => this.reset()), " ",
      button("SVG", "Save as SVG", () => this.save("svg")), " ", button("PNG", "Save as PNG", () => this.save("png")));
    this.svg = node("svg", { role: "img", tabindex: 0, "aria-label": `${figure.title}. ${figure.caption}` });
    this.tip = node("div", { class: "tip", hidden: "" });
    this.plot = node("div", { class: "plot" }, this.svg, this.tip);
    this.host.prepend(node("div", { class: "head" }, node("h3", {}, figure.title), zoom), this.legend(), this.plot);
    this.host.append(this.table());
    this.listen();
  }

  legend() {
    const made = node("div", { class: "legend" });
    this.figure.layers.forEach((layer, k) => {
      if (!layer.name) return;
      const item = node("button", { type: "button", "aria-pressed": String(!this.off.has(k)) }, sample(layer), layer.name);
      item.addEventListener("click", () => {
        if (!this.off.delete(k)) this.off.add(k);
        item.setAttribute("aria-pressed", String(!this.off.has(k)));
        this.draw();
      });
      made.append(item);
    });
    return made;
  }

  listen() {
    const { svg } = this;
    let from = null;
    const share = (event) => (event.clientX - svg.getBoundingClientRect().left - this.left) / this.inner;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = Math.min(1, Math.max(0, share(event)));
      svg.setPointerCapture(event.pointerId);
      svg.focus({ preventScroll: true });
    });
    svg.addEventListener("pointermove", (event) => {
      const to = Math.min(1, Math.max(0, share(event)));
      if (from === null) return this.hover(to, event);
      this.tip.hidden = true;
      this.marker.setAttribute("x", this.left + Math.min(from, to) * this.inner);
      this.marker.setAttribute("width", Math.abs(to - from) * this.inner);
    });
    svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = Math.min(1, Math.max(0, share(event))), [low, high] = this.view, span = high - low;
      const ends = [Math.min(from, to), Math.max(from, to)];
      from = null;
      this.marker.setAttribute("width", 0);
      if ((ends[1] - ends[0]) * this.inner > 5) this.view = ends.map((end) => low + end * span);
    });
    svg.addEventListener("pointercancel", () => { from = null; this.marker.setAttribute("width", 0); });
    svg.addEventListener("pointerleave", () => { this.tip.hidden = true; this.cursor.setAttribute("visibility", "hidden"); });
    svg.addEventListener("dblclick", () => this.reset());
    svg.addEventListener("wheel", (event) => {
      // A page that scrolls must not be caught by a figure: only one in focus, or with Ctrl, takes the wheel.
      if (document.activeElement !== svg && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, share(event))));
    }, { passive: false });
    svg.addEventListener("keydown", (event) => {
      const acts = { "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "0": () => this.reset(), Escape: () => this.reset(), ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2) };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    });
  }

  /** On paper as wide as a sheet, or half of it where figures stand side by side; the screen says nothing about that. */
  get width() {
    if (!paper || this.plot.clientWidth === 0) return this.plot.clientWidth;
    return this.host.matches(".pair > :not(:only-child)") ? 350 : 700;
  }

  /** Draw what is in view. */
  draw() {
    const { figure, svg, width } = this;
    if (width === 0) return;
    // On paper low enough that a figure stands below what leads to it.
    const height = Math.round(Math.min(figure.height || 340, paper ? 300 : 1000, Math.max(220, width * 0.7)));
    const [low, high] = this.view, range = this.range(low, high, height - 50);
    const yTicks = this.yTicks(range, height / 55);
    this.left = Math.max(44, 26 + 7 * Math.max(...yTicks.map(([, text]) => text.length), 0));
    this.inner = width - this.left - 10;
    this.rows = this.footRows();
    this.bottom = height - 42 - 14 * (this.rows - 1);
    const x = (value) => round1(this.left + ((forward(figure.x, value) - low) / (high - low)) * this.inner);
    const y = (value) => round1(8 + (1 - (forward(figure.y, value) - range[0]) / (range[1] - range[0])) * (this.bottom - 8));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    const clip = `clip-${figure.id}`, inside = node("g", { "clip-path": `url(#${clip})` });
    const frame = { x: this.left, y: 8, width: Math.max(1, this.inner), height: this.bottom - 8 };
    svg.replaceChildren(node("clipPath", { id: clip }, node("rect", frame)), this.axes(x, y, low, high, yTicks, width, height), inside, node("rect", { class: "frame", ...frame }));
    figure.layers.forEach((layer, k) => { if (!this.off.has(k)) inside.append(...painters[layer.kind](this, layer, x, y)); });
    this.marker = node("rect", { class: "select", ...frame, width: 0 });
    this.cursor = node("line", { class: "cursor", y1: 8, y2: this.bottom, visibility: "hidden" });
    svg.append(this.marker, this.cursor);
    this.scales = { x, y };
    svg.dataset.view = [low, high].map((end) => backward(figure.x, end)).join(" ");
  }

  /** Ticks of y: at least three, so that the scale can be read. */
  yTicks(range, count) {
    const { y } = this.figure, few = ticks(y, ...range, count);
    return few.length > 2 || y.names ? few : ticks(y, ...range, 2 * count);
  }

  /** Rows of names below the figure, so that long ones do not run into each other. */
  footRows() {
    const names = this.figure.x.names;
    this.shrink = 1;
    if (!names) return 1;
    const widest = Math.max(...names.map((name) => name.length)) * 7.6;
    // Names at the ends come inward by at most half of what they are wide.
    const rows = Math.min(6, Math.max(1, Math.ceil((widest + Math.max(0, widest / 2 - 15) + 10) / (this.inner / names.length))));
    // What still does not fit is written smaller.
    this.shrink = Math.min(1, Math.max(0.6, ((rows * this.inner) / names.length - 8) / (1.25 * widest)));
    return rows;
  }

  axes(x, y, low, high, yTicks, width, height) {
    const { figure } = this, group = node("g"), right = this.left + this.inner;
    const longest = figure.x.scale === "time" ? 80 : 62;
    const small = this.shrink < 1 ? { style: `font-size:${(12 * this.shrink).toFixed(1)}px` } : {};
    ticks(figure.x, low, high, Math.max(2, this.inner / longest)).forEach(([value, text], k) => {
      const at = x(backward(figure.x, value)), half = 3.8 * this.shrink * text.length;
      if (at < this.left - 0.5 || at > right + 0.5) return;
      group.append(node("line", { class: "grid", x1: at, x2: at, y1: 8, y2: this.bottom }));
      // What would be cut at an end is moved inward.
      const middle = Math.max(half, Math.min(width - half, at));
      group.append(node("text", { x: middle, y: this.bottom + 15 + 14 * (k % this.rows), "text-anchor": "middle", ...small }, text));
    });
    for (const [value, text] of yTicks) {
      const at = y(backward(figure.y, value));
      if (at < 7.5 || at > this.bottom + 0.5) continue;
      group.append(node("line", { class: "grid", x1: this.left, x2: right, y1: at, y2: at }));
      group.append(node("text", { x: this.left - 6, y: at + 4, "text-anchor": "end" }, text));
    }
    // A label longer than its axis is written smaller rather than cut.
    const fit = (text, room) => ({ class: "label", "text-anchor": "middle", style: `font-size:${Math.min(12, room / (0.58 * text.length)).toFixed(1)}px` });
    group.append(node("text", { ...fit(figure.x.label, width - 8), x: this.left + this.inner / 2, y: height - 6 }, figure.x.label));
    group.append(node("text", { ...fit(figure.y.label, height - 8), x: 12, y: height / 2, transform: `rotate(-90 12 ${height / 2})` }, figure.y.label));
    return group;
  }

  /** Ends of y over what is in view, on the drawing scale, for a drawing of this height. */
  range(low, high, height) {
    const { figure } = this;
    let bottom = Number.MAX_VALUE, top = -Number.MAX_VALUE;
    const take = (value) => {
      if (!usable(figure.y, value)) return;
      const at = forward(figure.y, value);
      bottom = Math.min(bottom, at);
      top = Math.max(top, at);
    };
    figure.layers.forEach((layer, k) => {
      if (this.off.has(k) || layer.aside) return;
      const [first, last] = this.slice(layer, low, high);
      for (const name of [layer.y, layer.low, layer.high]) {
        if (!name) continue;
        const values = this.column(name);
        for (let i = first; i < last; i++) take(values[i]);
      }
    });
    (figure.y_include || []).forEach(take);
    if (!(bottom <= top)) return [0, 1];
    // Sizes of jumps are written beyond their marks: 24 pixels of the whole.
    const air = figure.layers.some((layer) => layer.size) ? 24 / (height - 48) : 0.05;
    const pad = bottom === top ? 0.5 : air * (top - bottom);
    return figure.y_include && bottom >= 0 && figure.y.scale !== "log" ? [bottom, top + pad] : [bottom - pad, top + pad];
  }

  /** The part of a layer that is in view, with a neighbour on either side; x is sorted in every layer. */
  slice(layer, low, high) {
    const values = this.column(layer.x), axis = this.figure.x;
    const first = place(values, backward(axis, low)), last = place(values, backward(axis, high));
    return [Math.max(0, first - 1), Math.min(values.length, last + 1)];
  }

  hover(share, event) {
    const { figure } = this, [low, high] = this.view, at = backward(figure.x, low + share * (high - low));
    let best = null;
    const lines = [];
    figure.layers.forEach((layer, k) => {
      if (this.off.has(k) || !layer.name) return;
      const values = this.column(layer.x);
      let i = place(values, at);
      if (i > 0 && (i === values.length || at - values[i - 1] < values[i] - at)) i -= 1;
      if (layer.kind === "bars") i = Math.max(0, place(values, at) - 1);
      if (!known(values[i])) return;
      const distance = Math.abs(this.scales.x(values[i]) - this.scales.x(at));
      // A sparse layer, such as jumps, speaks only where the pointer is on it.
      if (distance > 12 && layer.kind !== "bars" && layer.kind !== "line" && layer.kind !== "band") return;
      if (best === null || distance < best[0]) best = [distance, values[i]];
      lines.push([layer, reading(this, layer, i)]);
    });
    if (best === null || share <= 0 || share >= 1) { this.tip.hidden = true; return; }
    const place_x = this.scales.x(best[1]);
    this.cursor.setAttribute("x1", place_x);
    this.cursor.setAttribute("x2", place_x);
    this.cursor.setAttribute("visibility", "visible");
    this.tip.replaceChildren(node("b", {}, `${figure.x.label}: ${show(figure.x, best[1])}`),
      ...lines.filter(([, text]) => text).map(([layer, text]) => node("div", {}, sample(layer), ` ${layer.name}: ${text}`)));
    this.tip.querySelectorAll("svg").forEach((svg) => { svg.setAttribute("width", 18); svg.setAttribute("height", 10); });
    this.tip.hidden = false;
    const box = this.plot.getBoundingClientRect(), flip = event.clientX - box.left > box.width / 2;
    this.tip.style.left = flip ? "" : `${place_x + 12}px`;
    this.tip.style.right = flip ? `${box.width - place_x + 12}px` : "";
    this.tip.style.top = `${Math.min(event.clientY - box.top, this.bottom - this.tip.offsetHeight)}px`;
  }

  /** What is in view as an SVG document that needs no style sheet: title, names in their colours, the figure. */
  picture() {
    const names = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-size", "font-family", "font-weight", "paint-order"];
    const copy = this.svg.cloneNode(true), all = (root) => [root, ...root.querySelectorAll("*")];
    const seen = all(this.svg);
    all(copy).forEach((part, k) => {
      const style = getComputedStyle(seen[k]);
      for (const name of names) part.style.setProperty(name, style.getPropertyValue(name));
    });
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number), top = 44;
    const page = getComputedStyle(document.body), shade = (value) => page.getPropertyValue(value);
    const title = node("text", { x: 10, y: -26, style: `font:600 15px sans-serif;fill:${page.color}` }, this.figure.title);
    const legend = node("text", { x: 10, y: -6, style: "font:12px sans-serif" });
    this.figure.layers.forEach((layer, k) => {
      if (!layer.name || this.off.has(k)) return;
      const probe = node("span", { style: `color:${color(layer)}` });
      this.host.append(probe);
      const part = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
      part.setAttribute("style", `fill:${getComputedStyle(probe).color}`);
      part.textContent = `■ ${layer.name}   `;
      probe.remove();
      legend.append(part);
    });
    copy.prepend(node("rect", { x: 0, y: -top, width, height: height + top, style: `fill:${shade("background-color")}` }), title, legend);
    for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height: height + top, viewBox: `0 ${-top} ${width} ${height + top}` }))
      copy.setAttribute(name, value);
    return { text: new XMLSerializer().serializeToString(copy), width, height: height + top };
  }

  save(kind) {
    const { text, width, height } = this.picture(), url = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    const give = (href) => node("a", { href, download: `${this.figure.id}.${kind}` }).click();
    if (kind === "svg") return give(url);
    const image = new Image(), canvas = node("canvas", { width: 2 * width, height: 2 * height });
    image.onload = () => { canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height); give(canvas.toDataURL("image/png")); };
    image.src = url;
  }

  /** The numbers of the figure, made when they are first asked for. */
  table() {
    const made = node("details", {}, node("summary", {}, "Table"));
    made.addEventListener("toggle", () => {
      if (made.open && made.children.length === 1) groups(this.figure).forEach((names, k) => made.append(...this.list(names, k)));
    });
    return made;
  }

  list(names, k) {
    const { figure } = this, columns = names.map((name) => figure.columns[name]), count = columns[0].values.length;
    const cell = (column, i) => (column === 0 ? show(figure.x, columns[column].values[i]) : short(columns[column].values[i]));
    const head = node("tr", {}, ...columns.map((column) => node("th", { class: "number", scope: "col" }, column.label)));
    const body = node("tbody"), most = 400;
    const rows = (first) => {
      for (let i = first; i < Math.min(count, first + most); i++)
        body.append(node("tr", {}, ...columns.map((_, column) => node("td", { class: "number" }, cell(column, i)))));
    };
    rows(0);
    const parts = [node("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${figure.title}: table ${k + 1}` }, node("table", {}, node("thead", {}, head), body))];
    const save = node("button", { type: "button" }, `Save all ${count} rows as CSV`);
    save.addEventListener("click", () => {
      const line = (values) => values.map((v) => (known(v) ? v : "")).join(",");
      const text = [columns.map((c) => JSON.stringify(c.label)).join(","), ...columns[0].values.map((_, i) => line(columns.map((c) => c.values[i])))].join("\n");
      const link = node("a", { href: URL.createObjectURL(new Blob([text + "\n"], { type: "text/csv" })), download: `${figure.id}.csv` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    parts.push(save);
    if (count > most) {
      const more = node("button", { type: "button" }, "More rows");
      more.addEventListener("click", () => { rows(body.children.length); more.hidden = body.children.length >= count; });
      parts.push(" ", more);
    }
    return parts;
  }
}
