// Bring the page to life: its figures, light and dark, the choice of a dimension, tables to sort.
for (const host of document.querySelectorAll("figure[data-figure]")) new Chart(host, figures[host.dataset.figure]);

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

for (const [event, printing] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(event, () => { paper = printing; drawn.forEach((chart) => chart.draw()); });

const chooser = document.getElementById("dimension");
if (chooser) {
  const choose = () => {
    for (const part of document.querySelectorAll("[data-dimension]")) part.hidden = part.dataset.dimension !== chooser.value;
    drawn.forEach((chart) => chart.draw());
  };
  chooser.addEventListener("change", choose);
  choose();
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, k) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const value = (row) => row.cells[k].dataset.value ?? row.cells[k].textContent;
    const compare = (a, b) => {
      if (value(a) === "" || value(b) === "") return (value(a) === "") - (value(b) === "");
      const [p, q] = [Number(value(a)), Number(value(b))];
      const order = Number.isFinite(p - q) ? p - q : value(a).localeCompare(value(b));
      return up ? order : -order;
    };
    body.append(...[...body.rows].sort(compare));
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  }));
}
