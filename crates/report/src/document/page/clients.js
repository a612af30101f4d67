// The clients of a run: the ten worst, and one in detail.
const connectClients = (page) => {
  const table = document.getElementById("worst");
  if (!table) return;
  const { runs, holdings, overlays } = page.clients;
  const panel = document.getElementById("client");
  const select = document.getElementById("clients-run");
  let run = runs[0];

  const element = (tag, text, parent) => {
    const made = document.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const percent = (thousandths) => (thousandths < 0 ? "–" : `${(thousandths / 10).toFixed(1)}\u00a0%`);
  const last = (client) => run.curves[client][run.rounds.length - 1];
  const pairs = (client) => {
    const held = run.holdings === null ? [] : holdings[run.holdings][client];
    return held.map((_, at) => at).filter((at) => at % 2 === 0).map((at) => [held[at], held[at + 1]]);
  };
  const examples = (client) => pairs(client).reduce((sum, [, count]) => sum + count, 0);
  const neighbours = (client) => {
    if (run.overlay === null) return null;
    const ends = overlays[run.overlay];
    const found = [];
    for (let at = 0; at < ends.length; at += 2) {
      if (ends[at] === client) found.push(ends[at + 1]);
      if (ends[at + 1] === client) found.push(ends[at]);
    }
    return found.sort((a, b) => a - b);
  };
  const labelsAround = (client) => new Set([client, ...(neighbours(client) || [])].flatMap((near) => pairs(near).map(([label]) => label))).size;
  // A figure that the run was asked for by `evaluate.clients`; null if there is none.
  const view = (client, name) => {
    const at = run.views === null ? -1 : run.views.columns.indexOf(name);
    return at < 0 ? null : (run.views.figures[client][at] ?? null);
  };
  const share = (fraction) => (fraction === null ? "–" : percent(1000 * fraction));
  const labelName = (label) => run.names.labels?.[label] ?? `label ${label}`;
  const clientName = (client) => (run.names.clients?.[client] ? `client ${client} (${run.names.clients[client]})` : `client ${client}`);
  const byLabel = (client) => {
    const names = run.views === null ? [] : run.views.columns.filter((name) => name.startsWith("label_"));
    return names.map((name) => [name.split("_")[1], view(client, name)]).filter(([, accuracy]) => accuracy !== null);
  };
  const ofEveryRun = [
    ["accuracy", (client) => percent(last(client))],
    ["examples", (client) => (run.holdings === null ? "–" : examples(client))],
    ["labels", (client) => (run.holdings === null ? "–" : pairs(client).length)],
    ["neighbours", (client) => (run.overlay === null ? "–" : neighbours(client).length)],
    ["labels with neighbours", (client) => (run.holdings === null || run.overlay === null ? "–" : labelsAround(client))],
    ["own model after 10 mixings", (client) => (run.own_share === null ? "–" : percent(run.own_share[client]))],
  ];
  const ofViews = [
    ["local_test_accuracy", "on its local test set"],
    ["fine_tuned_accuracy", "after fine-tuning"],
    ["own_labels_accuracy", "on its labels"],
    ["own_accuracy", "on its own examples"],
    ["membership_accuracy", "attackers are right"],
  ];
  const columns = () => {
    const asked = ofViews.filter(([name]) => run.views !== null && run.views.columns.includes(name));
    return [...ofEveryRun, ...asked.map(([name, title]) => [title, (client) => share(view(client, name))])];
  };

  // A curve as a small picture, from 0 to 100 %.
  const curve = (client) => {
    const points = run.curves[client].map((value, at) => [at, value]).filter(([, value]) => value >= 0);
    const x = (at) => (400 * run.rounds[at]) / Math.max(1, run.rounds[run.rounds.length - 1]);
    const path = points.map(([at, value], index) => `${index === 0 ? "M" : "L"}${x(at).toFixed(1)} ${(100 - value / 10).toFixed(1)}`).join("");
    return `<svg viewBox="0 -4 400 108" role="img" aria-label="accuracy over the rounds"><path d="M0 0H400M0 50H400M0 100H400" stroke="var(--grid)"/><path d="${path}" fill="none" stroke="var(--group-${run.group})" stroke-width="2"/></svg>`;
  };
  const show = (client) => {
    panel.hidden = false;
    panel.dataset.client = client;
    panel.replaceChildren();
    const name = clientName(client);
    element("h3", `${name[0].toUpperCase()}${name.slice(1)} of ${page.groups[run.group].label}${run.seed}`, panel);
    element("p", `Final accuracy ${percent(last(client))}; below, from 0 to 100 % over ${run.rounds[run.rounds.length - 1]} rounds.`, panel);
    panel.insertAdjacentHTML("beforeend", curve(client));
    if (run.holdings !== null) element("p", `${examples(client)} examples: ${pairs(client).map(([label, count]) => `${count} of ${labelName(label)}`).join(", ") || "none"}.`, panel);
    if (view(client, "own_loss") !== null) element("p", `On its own training examples: accuracy ${share(view(client, "own_accuracy"))}, loss ${view(client, "own_loss")}.`, panel);
    if (view(client, "local_test_loss") !== null) element("p", `On its local test set of ${view(client, "local_test_examples")} examples: accuracy ${share(view(client, "local_test_accuracy"))}, loss ${view(client, "local_test_loss")}.`, panel);
    if (view(client, "fine_tuned_loss") !== null) element("p", `After fine-tuning: accuracy ${share(view(client, "fine_tuned_accuracy"))}, loss ${view(client, "fine_tuned_loss")}.`, panel);
    const labels = byLabel(client);
    if (labels.length > 0) element("p", `Accuracy by label: ${labels.map(([label, accuracy]) => `${share(accuracy)} of ${labelName(label)}`).join(", ")}.`, panel);
    const near = neighbours(client);
    if (near === null) return;
    const line = element("p", `${near.length} neighbours: `, panel);
    for (const other of near.slice(0, 60)) {
      const button = element("button", String(other), line);
      button.type = "button";
      button.addEventListener("click", () => show(other));
      line.append(` (${percent(last(other))}) `);
    }
    if (near.length > 60) line.append("and more.");
  };
  const fill = () => {
    table.replaceChildren();
    const head = element("tr", "", table.createTHead());
    ["client", ...columns().map(([name]) => name)].forEach((name) => element("th", name, head));
    const body = table.createTBody();
    const clients = run.curves.map((_, client) => client).filter((client) => last(client) >= 0);
    for (const client of clients.sort((a, b) => last(a) - last(b)).slice(0, 10)) {
      const row = element("tr", "", body);
      const button = element("button", clientName(client), element("th", "", row));
      button.type = "button";
      button.addEventListener("click", () => show(client));
      columns().forEach(([, text]) => element("td", text(client), row));
    }
  };
  const choose = (group) => {
    run = runs.find((other) => other.group === group);
    if (select) select.value = String(group);
    fill();
  };

  // The node at a click: an element of its own, or the nearest of many.
  const nodeAt = (svg, event) => {
    const circles = [...svg.querySelectorAll("circle")];
    if (circles.length > 0) return circles.indexOf(event.target.closest("circle"));
    if (!svg.dataset.places) return -1;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const distances = svg.dataset.places.split(" ").map((place) => {
      const [x, y] = place.split(",").map(Number);
      return (x - at.x) ** 2 + (y - at.y) ** 2;
    });
    return distances.reduce((best, distance, node) => (distance < distances[best] ? node : best), 0);
  };
  for (const svg of document.querySelectorAll("svg.overlay")) {
    svg.addEventListener("click", (event) => {
      const groups = svg.dataset.groups.split(" ").map(Number);
      const shown = groups.includes(run.group) ? run.group : groups.find((group) => runs.some((other) => other.group === group));
      const node = nodeAt(svg, event);
      if (shown === undefined || node < 0) return;
      choose(shown);
      if (node >= run.curves.length) return;
      show(node);
      panel.scrollIntoView({ block: "center" });
    });
  }
  if (select) select.addEventListener("change", () => {
    choose(Number(select.value));
    panel.hidden = true;
    delete panel.dataset.client;
  });
  if (select) choose(Number(select.value));
  else fill();
  const opened = Number(panel.dataset.client ?? -1);
  if (opened >= 0 && opened < run.curves.length) show(opened);
};
