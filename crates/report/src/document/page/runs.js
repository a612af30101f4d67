// Which runs are shown: a button for each, one for each value of a setting, all or none, and a filter by text.
const isOfOneRun = (button) => !button.classList.contains("value");

const connectRuns = (groups, hidden, redraw) => {
  const press = (button, pressed) => button.setAttribute("aria-pressed", String(pressed));
  const buttons = [...document.querySelectorAll("button[data-groups]")];
  const groupsOf = (button) => button.dataset.groups.split(" ").map(Number);
  const solo = document.getElementById("solo");
  const filter = document.getElementById("filter");
  const rows = [...document.querySelectorAll("tr[data-group]")];
  const switchedOff = new Set();
  const all = groups.map((_, group) => group);

  const matches = (text) => {
    const words = (filter ? filter.value : "").toLowerCase().split(/\s+/).filter(Boolean);
    return words.every((word) => text.toLowerCase().includes(word));
  };
  const update = () => {
    hidden.clear();
    for (const group of all) {
      if (switchedOff.has(group) || !matches(groups[group].label)) hidden.add(group);
    }
    for (const button of buttons) {
      const own = groupsOf(button);
      press(button, own.some((group) => !switchedOff.has(group)));
      button.hidden = own.every((group) => !matches(groups[group].label));
    }
    for (const row of rows) row.hidden = !matches(row.cells[0].textContent);
  };
  const change = () => {
    update();
    redraw();
  };
  const show = (shown) => {
    switchedOff.clear();
    all.filter((group) => !shown.includes(group)).forEach((group) => switchedOff.add(group));
    change();
  };

  for (const button of buttons.filter(isOfOneRun)) {
    if (button.getAttribute("aria-pressed") === "false") switchedOff.add(groupsOf(button)[0]);
  }
  update();

  for (const button of buttons) {
    button.addEventListener("click", () => {
      const own = groupsOf(button);
      if (solo && solo.checked) return show(own);
      const shown = own.some((group) => !switchedOff.has(group));
      own.forEach((group) => (shown ? switchedOff.add(group) : switchedOff.delete(group)));
      change();
    });
  }
  if (!filter) return;
  filter.addEventListener("input", change);
  document.getElementById("show-all").addEventListener("click", () => show(all));
  document.getElementById("show-none").addEventListener("click", () => show([]));
};
