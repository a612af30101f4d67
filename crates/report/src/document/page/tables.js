// A click on a heading sorts the table by its column, cells without a figure last.
const sortTables = () => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const figure = (row, column) => {
      const text = row.cells[column].dataset.sort;
      return text === undefined ? NaN : Number(text);
    };
    const sort = (column) => {
      const sign = headings[column].getAttribute("aria-sort") === "ascending" ? 1 : -1;
      const compare = (a, b) => {
        if (column === 0) return sign * a.cells[0].textContent.localeCompare(b.cells[0].textContent, "en", { numeric: true });
        const [x, y] = [figure(a, column), figure(b, column)];
        return Number.isNaN(x) - Number.isNaN(y) || sign * (x - y) || 0;
      };
      body.append(...[...body.rows].sort(compare));
    };
    headings.forEach((heading, column) => {
      if (heading.hasAttribute("aria-sort")) sort(column);
      heading.firstElementChild.addEventListener("click", () => {
        const ascending = heading.getAttribute("aria-sort") === "descending" || (column === 0 && !heading.hasAttribute("aria-sort"));
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(column);
      });
    });
  }
};
