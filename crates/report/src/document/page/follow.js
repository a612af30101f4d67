// Follows runs that go on: asks `meshfold watch` whether there is a newer page, and then shows that as the reader has set this one.

// Writes what the reader has chosen on the page that is shown into the parts of a newer one.
const keepChoices = (parts, groups) => {
  const find = (selector, is = () => true) => parts.flatMap((part) => [...part.querySelectorAll(selector)]).find(is);
  const named = (id) => find(`#${id}`);
  const isChanged = (control) => {
    if (control.tagName === "SELECT") return control.selectedIndex !== Math.max(0, [...control.options].findIndex((option) => option.defaultSelected));
    return control.type === "checkbox" ? control.checked !== control.defaultChecked : control.value !== "";
  };
  for (const control of document.querySelectorAll("select[id], input[id]")) {
    const other = named(control.id);
    // Whether an axis is logarithmic depends on which one it is.
    const isKept = isChanged(control) || (control.id === "log-x" && isChanged(document.getElementById("axis")));
    if (!other || !isKept) continue;
    if (control.tagName === "SELECT") {
      const chosen = control.selectedOptions[0].text;
      for (const option of other.options) if (option.text === chosen) option.selected = true;
    } else if (control.type === "checkbox") {
      other.checked = control.checked;
    } else {
      other.value = control.value;
    }
  }
  const labelsNow = JSON.parse(document.getElementById("report-data").textContent).groups.map(({ label }) => label);
  for (const button of document.querySelectorAll("button[data-groups]:not(.value)[aria-pressed=false]")) {
    const group = groups.findIndex(({ label }) => label === labelsNow[button.dataset.groups]);
    find(`button[data-groups="${group}"]:not(.value)`)?.setAttribute("aria-pressed", "false");
  }
  for (const details of document.querySelectorAll("details")) {
    const words = details.firstElementChild.textContent;
    const other = find("details", ({ firstElementChild }) => firstElementChild.textContent === words);
    if (other) other.open = details.open;
  }
  for (const heading of document.querySelectorAll("th[aria-sort]")) {
    find(".sortable th", ({ textContent }) => textContent === heading.textContent)?.setAttribute("aria-sort", heading.getAttribute("aria-sort"));
  }
  const [panel, other] = [document.getElementById("client"), named("client")];
  if (panel && other && "client" in panel.dataset) other.dataset.client = panel.dataset.client;
};

// Puts the parts of a newer page in the place of those that are shown. Plots stay the elements that they are, so that they
// change without a flash and keep what the reader has zoomed into.
const replacePage = (newer) => {
  const scroll = { left: scrollX, top: scrollY, behavior: "instant" };
  const focus = document.activeElement.id;
  const partsOf = (page) => [...page.body.children].filter(({ tagName }) => ["HEADER", "NAV", "MAIN", "FOOTER"].includes(tagName));
  const data = newer.getElementById("report-data").textContent;
  const parts = partsOf(newer).map((part) => document.adoptNode(part));
  keepChoices(parts, JSON.parse(data).groups);
  for (const box of parts.flatMap((part) => [...part.querySelectorAll(".chart")])) {
    const drawn = document.getElementById(box.id);
    if (!drawn || !drawn.data) continue;
    drawn.style.height = box.style.height;
    drawn.setAttribute("aria-label", box.getAttribute("aria-label"));
    box.replaceWith(drawn);
  }
  for (const gone of document.querySelectorAll(".chart")) if (gone.data) Plotly.purge(gone);
  for (const part of partsOf(document)) part.remove();
  document.body.prepend(...parts);
  document.getElementById("report-data").textContent = data;
  document.title = newer.title;
  scrollTo(scroll);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
};

(async () => {
  // A reader who is busy with the page is left alone for so many milliseconds.
  const undisturbed = 3000;
  let touched = -Infinity;
  for (const kind of ["pointerdown", "keydown", "wheel"]) {
    addEventListener(kind, () => (touched = performance.now()), { capture: true, passive: true });
  }
  const status = () => document.getElementById("following");
  const ask = async () => {
    const answer = await fetch("/", { cache: "no-store", headers: { "If-None-Match": `"${status().dataset.tag}"` } });
    if (answer.status === 304) return null;
    if (!answer.ok) throw new Error(answer.statusText);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  let shown = new AbortController();
  await drawReport(shown.signal);
  while (!("over" in status().dataset)) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * status().dataset.every));
    if (document.hidden || performance.now() - touched < undisturbed) continue;
    try {
      const newer = await ask();
      delete status().dataset.silent;
      if (!newer) continue;
      shown.abort();
      shown = new AbortController();
      replacePage(newer);
      await drawReport(shown.signal);
    } catch (error) {
      console.warn(error);
      status().dataset.silent = "";
    }
  }
})();
