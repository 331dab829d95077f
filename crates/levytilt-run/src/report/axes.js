// Small helpers, and the axes: where a value lies, which ticks there are, how numbers and times are written.
const node = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "g", "path", "line", "rect", "text", "circle", "clipPath", "polygon"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const color = (layer) => `var(--${layer.tone || "blue"})`;
const round1 = (value) => Math.round(value * 10) / 10;

/** The first place in a sorted list whose value is at least `target`. */
const place = (values, target) => {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < target) low = middle + 1; else high = middle;
  }
  return low;
};

const short = (value) => {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(3).replace("e+", "e");
  return String(Number(value.toPrecision(5)));
};

const forward = (axis, value) => (axis.scale === "log" ? Math.log10(value) : value);
const backward = (axis, value) => (axis.scale === "log" ? 10 ** value : value);
const usable = (axis, value) => known(value) && (axis.scale !== "log" || value > 0);

const stamp = (axis, value, step) => {
  const iso = new Date(axis.origin + value * 864e5).toISOString();
  if (step === undefined) return iso.endsWith("T00:00:00.000Z") ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " ");
  if (step >= 360) return iso.slice(0, 4);
  if (step >= 28) return iso.slice(0, 7);
  if (step >= 1) return iso.slice(0, 10);
  return step >= 1 / 1440 ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 19);
};
const show = (axis, value) => (axis.names ? axis.names[Math.round(value) - 1] || "" : axis.scale === "time" && known(value) ? stamp(axis, value) : short(value));

const niceStep = (span, count) => {
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough);
};

/** Ticks of an axis between two ends on its drawing scale: [place, text]. */
const ticks = (axis, low, high, count) => {
  if (axis.names) return axis.names.map((name, k) => [k + 1, name]);
  if (axis.scale === "log") return logTicks(low, high, count);
  if (axis.scale === "time") return timeTicks(axis, low, high, count);
  const step = niceStep(high - low, count), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    const value = k * step, large = Math.abs(value) >= 1e6 || digits > 6;
    list.push([value, large ? Number(value.toPrecision(6)).toExponential() : value.toFixed(digits)]);
  }
  return list.map(([value, text]) => [value, text.replace("-", "−")]);
};
const superscript = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "⁻");
const logTicks = (low, high, count) => {
  if (high - low < 2.2) {
    const factors = high - low < 0.5 ? [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9] : high - low < 1.2 ? [1, 2, 3, 5, 7] : [1, 2, 5];
    const list = [];
    for (let power = Math.floor(low); power <= high; power++)
      for (const m of factors) {
        const at = power + Math.log10(m);
        if (at >= low && at <= high) list.push([at, short(Number((m * 10 ** power).toPrecision(3)))]);
      }
    return list;
  }
  const every = Math.max(1, Math.ceil((high - low) / count)), list = [];
  for (let k = Math.ceil(low / every); k * every <= high; k++) list.push([k * every, "10" + superscript(k * every)]);
  return list;
};
const timeTicks = (axis, low, high, count) => {
  const rough = (high - low) / count;
  const days = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((s) => s / 86400).concat([1, 2, 7, 14]);
  const step = days.find((d) => d >= rough), list = [];
  if (step !== undefined) {
    const shift = axis.origin / 864e5;
    for (let k = Math.ceil((low + shift) / step - 1e-9); k * step - shift <= high; k++) list.push([k * step - shift, stamp(axis, k * step - shift, step)]);
    return list;
  }
  const months = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((m) => m * 30.44 >= rough) || 2400;
  const start = new Date(axis.origin + low * 864e5);
  for (let m = Math.floor((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months; ; m += months) {
    const at = (Date.UTC(Math.floor(m / 12), m % 12, 1) - axis.origin) / 864e5;
    if (at > high) return list;
    if (at >= low) list.push([at, stamp(axis, at, months * 30)]);
  }
};
