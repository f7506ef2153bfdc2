"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const byId = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (tag, text = "", attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const shownAtFirst = 40;

  // -- formats that the charts leave out ---------------------------------------------------------------------------------

  for (const box of all("input.show")) {
    box.addEventListener("change", () => {
      for (const mark of all(`.panels .${box.dataset.series}, .rows .${box.dataset.series}`)) {
        mark.style.display = box.checked ? "" : "none";
      }
    });
  }

  // -- every tensor --------------------------------------------------------------------------------------------------------

  const numbers = byId("numbers") && JSON.parse(byId("numbers").textContent);
  const tables = all("table.tensors");
  if (!numbers || !tables.length) return;
  const { measures, formats, columns, rows } = numbers;
  const fixed = tables[0].tHead.rows[0].cells.length - columns;
  const search = byId("search"), measure = byId("measure"), matching = byId("matching");

  /** The number that a text stands for, to sort by it: "2^-3 to 2^1" is 2^-3; NaN is last. */
  const numberOf = (text) => {
    if (text === "exact") return Infinity;
    const power = /^2\^(-?\d+)/.exec(text);
    if (power) return 2 ** Number(power[1]);
    return Number.parseFloat(text.replace("< ", ""));
  };

  const lines = (table) => all("tr[data-row]", table);
  const textOf = (line) => `${line.cells[0].textContent} ${line.cells[1].textContent}`.toLowerCase();

  const close = (line) => {
    if (line.nextElementSibling?.classList.contains("details")) line.nextElementSibling.remove();
    line.cells[0].querySelector("button").setAttribute("aria-expanded", "false");
  };

  const open = (line) => {
    close(line);
    const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const [name, kind, layer, shape] = [...line.cells].map((x) => x.textContent);
    table.createCaption().textContent = [name, kind, layer && `layer ${layer}`, shape].filter(Boolean).join(", ");
    head.append(make("th", "format", { scope: "col", class: "t" }));
    for (const name of measures) head.append(make("th", name, { scope: "col" }));
    rows[line.dataset.row].forEach((texts, i) => {
      const row = body.insertRow();
      row.append(make("th", formats[i], { scope: "row", class: "t" }));
      if (texts[0] === "refused") {
        row.append(make("td", `refused: ${texts[1]}`, { colspan: measures.length, class: "t" }));
        return;
      }
      for (const text of texts) row.append(make("td", text));
    });
    const details = make("tr", "", { class: "details" }), place = make("td", "", { colspan: fixed + columns });
    place.append(table);
    details.append(place);
    line.after(details);
    line.cells[0].querySelector("button").setAttribute("aria-expanded", "true");
  };

  for (const line of all("tr[data-row]")) {
    const head = line.cells[0], button = make("button", "", { class: "tensor", type: "button", "aria-expanded": "false" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => (button.getAttribute("aria-expanded") === "true" ? close(line) : open(line)));
  }

  // A pattern has * for any text; other words are parts of a name or kind.
  const matcher = (word) => {
    if (!word.includes("*")) return (text) => text.includes(word);
    const pattern = word.split("*").map((x) => x.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
    const whole = new RegExp(pattern);
    return (text) => whole.test(text);
  };

  const filter = () => {
    const tests = search.value.toLowerCase().split(/\s+/).filter(Boolean).map(matcher);
    const found = [];
    for (const table of tables) {
      const limit = tests.length || table.dataset.whole ? Infinity : shownAtFirst;
      let count = 0;
      for (const line of lines(table)) {
        const matches = tests.every((test) => test(textOf(line)));
        if (matches) found.push(line);
        line.hidden = !matches || ++count > limit;
        close(line);
      }
      const more = table.parentElement.nextElementSibling;
      if (more?.classList.contains("more")) more.hidden = tests.length || table.dataset.whole;
    }
    matching.textContent = tests.length ? `${found.length} of ${rows.length}` : `${rows.length} ${rows.length === 1 ? "tensor" : "tensors"}`;
    if (tests.length && found.length <= 2) found.forEach(open);
  };

  for (const table of tables) {
    const count = lines(table).length;
    if (count > shownAtFirst + 5) {
      const more = make("button", `Show all ${count}`, { class: "more", type: "button" });
      more.addEventListener("click", () => { table.dataset.whole = "yes"; filter(); });
      table.parentElement.after(more);
    }
    all("th", table.tHead).forEach((head, column) => {
      const button = make("button", "", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const isNumber = column >= fixed;
        const up = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "ascending" : !isNumber || lowIsBad(column);
        all("th", table.tHead).forEach((x) => x.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (line) => line.cells[column].textContent;
        const compare = isNumber
          ? (a, b) => {
              const [x, y] = [numberOf(key(a)), numberOf(key(b))];
              if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
              return x === y ? 0 : (x < y ? -1 : 1) * (up ? 1 : -1);
            }
          : (a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (up ? 1 : -1);
        all("tr.details", table).forEach((x) => x.remove());
        table.tBodies[0].append(...lines(table).sort(compare));
        filter();
      });
    });
  }

  /** Whether the first click shows the lowest numbers of a column first: those of an SQNR. */
  const lowIsBad = (column) => (measure ? measure.value === "0" : column === fixed);

  measure?.addEventListener("change", () => {
    for (const table of tables) {
      for (const line of lines(table)) {
        rows[line.dataset.row].forEach((texts, i) => {
          line.cells[fixed + i].textContent = texts[0] === "refused" ? "refused" : texts[measure.value];
        });
      }
      all("th", table.tHead).slice(fixed).forEach((x) => x.removeAttribute("aria-sort"));
    }
  });
  search.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
      search.scrollIntoView({ block: "center" });
    } else if (event.key === "Escape" && event.target === search) {
      search.value = "";
      filter();
    }
  });
  filter();

  // -- a number of dB that every matrix must keep ----------------------------------------------------------------------------

  const need = byId("need"), needed = byId("needed");
  const sizes = byId("sizes") && JSON.parse(byId("sizes").textContent);
  need?.addEventListener("input", () => {
    const limit = Number.parseFloat(need.value);
    for (const line of all(".limit.need-line")) line.remove();
    if (Number.isNaN(limit)) {
      needed.textContent = "";
      return;
    }
    const enough = sizes.filter((x) => x.low === null || x.low >= limit).sort((x, y) => x.bits - y.bits);
    const below = (x) => `${x.name} ${x.levels.filter((y) => y !== null && y < limit).length} of ${x.levels.length}`;
    const others = sizes.filter((x) => !enough.includes(x)).map(below).join(", ");
    needed.textContent = (enough.length ? `smallest: ${enough[0].name}, ${enough[0].bits} bits` : "no format does") + (others && `; below: ${others}`);
    for (const chart of all("svg[data-level]")) {
      const [low, high, begin, end, left, right] = chart.dataset.level.split(" ").map(Number);
      if (limit < low || limit > high) continue;
      const y = begin + ((limit - low) / (high - low)) * (end - begin);
      const line = document.createElementNS(chart.namespaceURI, "path");
      line.setAttribute("class", "limit need-line");
      line.setAttribute("d", `M${left},${y}H${right}`);
      chart.append(line);
    }
  });
})();
