// The page is complete without this script, which only rearranges and folds what is there.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, heads, column));
  });
}

function sort(table, heads, column) {
  const number = text => text === "" ? NaN : Number(text.replace(/,/g, ""));
  const rows = [...table.tBodies[0].rows].map(row => {
    const text = row.cells[column].textContent.trim();
    return { row, text, number: number(text) };
  });
  const there = rows.filter(it => it.text !== "-");
  const numbers = there.every(it => !Number.isNaN(it.number));
  const before = heads[column].getAttribute("aria-sort");
  // Numbers begin with the largest, words with the first.
  const falling = before ? before === "ascending" : numbers;
  const compare = numbers ? (a, b) => a.number - b.number
    : (a, b) => a.text.localeCompare(b.text, "en", { numeric: true });
  there.sort((a, b) => falling ? compare(b, a) : compare(a, b));
  heads.forEach(head => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  const missing = rows.filter(it => it.text === "-");
  table.tBodies[0].append(...there.concat(missing).map(it => it.row));
}

const folds = [...document.querySelectorAll("details")];
for (const button of document.querySelectorAll("[data-open]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    folds.forEach(fold => { fold.open = button.dataset.open === "true"; });
  });
}

function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold) { fold.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => folds.forEach(fold => { fold.open = true; }));
reveal();
