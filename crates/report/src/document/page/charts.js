// Draws the page from its data, as the controls on it say. `signal` ends what outlasts the elements of the page.
const drawReport = async (signal) => {
  const page = JSON.parse(document.getElementById("report-data").textContent);
  const narrow = matchMedia("(max-width: 46rem)");
  const look = looks(page);
  const state = { axis: 0, band: "none", hidden: new Set(), meanModel: false, logY: false, everyValue: false };
  const followsAxis = Object.keys(page.bands ?? {}).filter((id) => id in page.charts);
  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: narrow.matches ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(`--${name}`).trim();
  };
  const faded = (hex, opacity) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  };
  const groupOf = (trace) => (trace.legendgroup ? Number(trace.legendgroup.slice(1)) : null);

  // The plotting library lies in the page, or in a file above its folder, which the page's copies may lack.
  const packedLibrary = () => {
    const inside = document.getElementById("plotly-packed");
    const packed = inside ? inside.textContent.trim() : window.plotlyPacked;
    if (packed) return packed;
    const file = document.getElementById("plotly-above").getAttribute("src").replace("../", "");
    throw new Error(`the file ${file} is not in the folder above that of this page. Copy it there as well, or write a page that is complete in itself: meshfold report FOLDER`);
  };

  // The unpacked script defines Plotly; it is the only thing that is slow here.
  const unpack = async () => {
    const packed = packedLibrary();
    if (!("DecompressionStream" in window)) throw new Error("it needs a browser of 2023 or later");
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  // The traces of a plot, every line that has a band with its band.
  const traces = (id, colour) => {
    const own = structuredClone(page.charts[id].data);
    const all = followsAxis.includes(id) ? own.flatMap((trace) => (trace.meta === "mean" ? withBand(trace, id) : [trace])) : own;
    return all.map((trace) => themedTrace(trace, id, colour));
  };
  const isLogarithmic = (id) => state.logY || page.charts[id].layout.yaxis.type === "log";
  const lowest = (id) => {
    const lines = page.charts[id].data.map(({ y }) => y);
    const edges = page.bands[id].map((bands) => bands[state.band]?.low ?? []);
    return [...lines, ...edges].flat().reduce((least, value) => (value > 0 ? Math.min(least, value) : least), Infinity);
  };
  const withBand = (mean, id) => {
    const band = page.bands[id][groupOf(mean)][state.band];
    const drawn = isLogarithmic(id) ? bandAbove(mean, band, lowest(id)) : band;
    mean.hovertext = inWords(mean, band, page.charts[id].layout.yaxis.tickformat === ".0%");
    mean.hovertemplate = "%{hovertext}";
    const judged = ["accuracy", "loss"].includes(id) && page.groups[groupOf(mean)].otherEnd;
    return [...bandTraces(mean, drawn), mean, ...(judged ? [endMark(mean)] : [])];
  };

  const themedTrace = (trace, id, colour) => {
    const group = groupOf(trace);
    if (group === null) {
      if (trace.type === "heatmap") {
        trace.colorscale = [0, 1, 2, 3].map((step) => [[0, 0.15, 0.55, 1][step], colour(`heat-${step}`)]);
        trace.showscale = !narrow.matches;
        if (id === "heat") trace.texttemplate = "%{z:.1%}";
        trace.colorbar = { ...trace.colorbar, tickfont: { color: colour("soft") }, title: { ...trace.colorbar.title, font: { color: colour("soft") } } };
      } else {
        trace.marker.color = colour("totals");
      }
      return trace;
    }
    const own = colour(`group-${group}`);
    if (trace.line) trace.line.color = own;
    if (trace.line && trace.line.dash && !["mean_model", "bound"].includes(trace.meta)) trace.line.dash = look.dash(group);
    if (trace.marker) trace.marker.color = own;
    if (trace.type === "box") trace.fillcolor = faded(own, 0.25);
    if (trace.fill) trace.fillcolor = faded(own, id === "spread" ? 0.35 : page.groups.length > 4 ? 0.07 : 0.13);
    if (state.hidden.has(group)) trace.visible = false;
    else if (trace.meta === "mean_model") trace.visible = state.meanModel;
    if (followsAxis.includes(id)) {
      const { log, values } = page.axes[state.axis];
      // On a logarithmic axis the start, at which nothing is sent, has no place.
      trace.x = log ? values[group].map((x) => (x > 0 ? x : null)) : values[group];
      if (log) trace.y = trace.y.map((y, at) => (trace.x[at] === null ? null : y));
    }
    return trace;
  };

  const themedAxis = (axis, colour) => ({
    ...axis,
    automargin: true,
    title: { ...axis.title, font: { size: 13, color: colour("soft") }, standoff: 10 },
    gridcolor: colour("grid"),
    zerolinecolor: colour("line"),
    linecolor: colour("line"),
    tickfont: { color: colour("soft"), size: 12 },
  });

  const logarithmicTicks = ({ values, unit }) => {
    const positive = values.flat().filter((value) => value > 0);
    const [low, high] = [Math.floor(Math.log10(Math.min(...positive))), Math.ceil(Math.log10(Math.max(...positive)))];
    const steps = high - low <= 4 && !narrow.matches ? [1, 2, 5] : [1];
    const tickvals = [];
    for (let power = low; power <= high; power++) tickvals.push(...steps.map((step) => step * 10 ** power));
    const prefixed = (value) => {
      const at = Math.max(0, Math.min(5, Math.floor(Math.log10(value) / 3 + 1e-9)));
      return `${Number((value / 1000 ** at).toPrecision(3))} ${["", "k", "M", "G", "T", "P"][at]}${unit}`;
    };
    const ticktext = tickvals.map((value) => (unit === "B" ? prefixed(value) : `${Number(value.toPrecision(3))} ${unit}`));
    return { tickvals, ticktext };
  };

  const themedLayout = (layout, id, colour) => {
    const themed = { ...layout };
    for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      themed[key] = themedAxis(layout[key], colour);
    }
    if (followsAxis.includes(id)) {
      const axis = page.axes[state.axis];
      const type = axis.log ? "log" : "linear";
      const units = axis.unit === "B" ? { tickformat: "~s", ticksuffix: "B" } : axis.unit ? { tickformat: "~g", ticksuffix: " s" } : {};
      if (axis.log) Object.assign(units, logarithmicTicks(axis));
      const title = { ...themed.xaxis.title, text: axis.title + (axis.log ? " (logarithmic)" : "") };
      themed.xaxis = { ...themed.xaxis, ...units, type, title };
      themed.xaxis.hoverformat = axis.unit === "B" ? ".3s" : axis.unit ? ".3~f" : "";
      themed.hovermode = axis.key === "rounds" ? "x unified" : "closest";
    }
    if (state.logY && followsAxis.includes(id)) themed.yaxis = { ...themed.yaxis, type: "log" };
    themed.paper_bgcolor = themed.plot_bgcolor = "rgba(0,0,0,0)";
    themed.font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") };
    themed.hoverlabel = { bgcolor: colour("sheet"), bordercolor: colour("line"), font: { color: colour("ink") } };
    themed.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("ink") };
    themed.margin = { l: 56, r: 16, t: 14, b: 48 };
    themed.dragmode = narrow.matches ? false : "zoom";
    if (labelled(id)) Object.assign(themed.margin, { r: labelMargin(), t: 34 });
    // What the reader has zoomed into stays until the axes mean something else.
    themed.uirevision = JSON.stringify([page.axes[state.axis].key, page.axes[state.axis].log, state.logY, state.everyValue]);
    return themed;
  };

  // The accuracy chart names its lines at their ends where there is room for it; the legend above names them everywhere.
  const labelled = (id) => id === "accuracy" && !narrow.matches && page.groups.length <= 9;
  const shortened = (text) => (text.length > 30 ? `${text.slice(0, 29)}…` : text);
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const pen = document.createElement("canvas").getContext("2d");
  const textWidth = (text, weight) => {
    pen.font = `${weight} 13px ${getComputedStyle(document.body).fontFamily}`;
    return pen.measureText(text).width;
  };
  const labelMargin = () => {
    const widths = page.groups.map(({ label, note }) => Math.max(textWidth(shortened(label), "bold"), textWidth(note, "normal")));
    return 18 + Math.ceil(Math.max(...widths));
  };

  const ends = (div, colour) => {
    const { xaxis, yaxis } = div._fullLayout;
    const edge = xaxis.type === "log" ? 10 ** xaxis.range[1] : xaxis.range[1];
    const found = [];
    for (const trace of div.data) {
      const group = groupOf(trace);
      if (trace.meta !== "mean" || trace.visible === false || state.hidden.has(group)) continue;
      const last = trace.y.reduce((best, value, at) => (value === null ? best : at), -1);
      if (last >= 0) found.push({ group, x: trace.x[last], y: trace.y[last], at: Math.max(0, yaxis.d2p(trace.y[last])), edge, colour: colour(`group-${group}`) });
    }
    return found;
  };

  const spaced = (labels, gap, height) => {
    labels.sort((a, b) => a.at - b.at);
    let floor = -Infinity;
    for (const label of labels) floor = label.to = Math.max(label.at, floor + gap);
    let ceiling = height - gap / 4;
    for (const label of [...labels].reverse()) {
      label.to = Math.min(label.to, ceiling);
      ceiling = label.to - gap;
    }
    return labels;
  };

  // The names at the ends of the lines, and the dotted lines to them.
  const lineNames = (div, colour) => {
    const height = div._fullLayout.yaxis._length;
    const labels = spaced(ends(div, colour), 38, height);
    const annotations = labels.map(({ group, to, colour }) => ({
      xref: "paper", x: 1, xanchor: "left", xshift: 10, yref: "paper", y: 1 - to / height, yanchor: "middle", align: "left", showarrow: false,
      hovertext: escaped(page.groups[group].label),
      text: `<b>${escaped(shortened(page.groups[group].label))}</b><br>${page.groups[group].note}`,
      font: { color: colour, size: 13 },
    }));
    const shapes = labels.filter(({ x, edge }) => x < edge).map(({ x, y, edge, colour }) => ({
      type: "line", x0: x, x1: edge, y0: y, y1: y, line: { color: colour, width: 1, dash: "dot" }, opacity: 0.6,
    }));
    return { annotations, shapes };
  };

  // Curves far above the others leave the plot at its top, and are named below it. So do bands far from the curves.
  const limit = (id, data, layout) => {
    if (!followsAxis.includes(id)) return;
    const shown = data.filter((trace) => groupOf(trace) !== null && trace.visible !== false);
    const curves = shown.filter((trace) => trace.meta !== "edge");
    const free = state.everyValue || layout.yaxis.type === "log";
    const highest = free || page.groups.length === 1 ? null : robustLimit(curves);
    const cut = new Set(highest === null ? [] : curves.filter(({ y }) => y.some((value) => value > highest)).map(groupOf));
    const range = free ? null : limits(curves, shown.filter((trace) => trace.meta === "edge"), highest);
    if (range) layout.yaxis = { ...layout.yaxis, range };
    noteCut(document.getElementById(`chart-${id}`).parentElement, [...cut].map((group) => page.groups[group].label));
  };

  const draw = async (id) => {
    const div = document.getElementById(`chart-${id}`);
    const colour = colours();
    const data = traces(id, colour);
    const layout = themedLayout(structuredClone(page.charts[id].layout), id, colour);
    limit(id, data, layout);
    await Plotly.react(div, data, layout, config);
    if (labelled(id)) await Plotly.relayout(div, lineNames(div, colour));
  };

  // A saved plot stands on white paper whatever the page's theme is.
  const saveChart = async (id) => {
    const div = document.getElementById(`chart-${id}`);
    const figure = inLightTheme(() => {
      const colour = colours();
      const data = traces(id, colour);
      const layout = themedLayout(structuredClone(page.charts[id].layout), id, colour);
      limit(id, data, layout);
      if (labelled(id)) Object.assign(layout, lineNames(div, colour));
      layout.paper_bgcolor = layout.plot_bgcolor = colour("paper");
      return { data, layout };
    });
    const { width, height } = div._fullLayout;
    const address = await Plotly.toImage(figure, { format: "svg", width, height });
    download(`${id}.svg`, address);
  };
  const drawAll = (ids) => Promise.all(ids.map(draw));
  const all = Object.keys(page.charts);

  // The controls say how the curves are drawn, also when they were set before the script began.
  const control = (id) => document.getElementById(id);
  const isOn = (id) => control(id) !== null && control(id).checked;
  const readControls = () => {
    state.axis = Number(control("axis")?.value ?? 0);
    state.band = control("band")?.value ?? "none";
    state.meanModel = isOn("mean-model");
    state.logY = isOn("log-y");
    state.everyValue = isOn("every-value");
    if (control("log-x")) page.axes[state.axis].log = isOn("log-x");
  };
  const connectScales = () => {
    readControls();
    control("axis")?.addEventListener("change", () => {
      control("log-x").checked = page.axes[Number(control("axis").value)].log;
    });
    for (const id of ["axis", "band", "mean-model", "log-x", "log-y", "every-value"]) {
      control(id)?.addEventListener("change", () => {
        readControls();
        drawAll(followsAxis);
      });
    }
  };
  const connect = () => {
    connectScales();
    look.connect(() => drawAll(all));
    connectClients(page);
    connectHeat(page, () => draw("heat"));
    connectRuns(page.groups, state.hidden, () => drawAll(all));
    sortTables();
    connectTheme(() => drawAll(all), signal);
    for (const button of document.querySelectorAll(".save")) {
      button.addEventListener("click", () => saveChart(button.dataset.chart));
    }
    narrow.addEventListener("change", () => drawAll(all), { signal });
  };

  try {
    if (!window.Plotly) await unpack();
    if (page.axes.length === 0) page.axes.push({ key: "rounds", title: "communication round", unit: "", log: false, values: page.groups.map(() => []) });
    connect();
    await drawAll(all);
    document.documentElement.dataset.drawn = "true";
  } catch (error) {
    console.error(error);
    for (const id of all) {
      const div = document.getElementById(`chart-${id}`);
      const message = document.createElement("p");
      message.className = "failure";
      message.textContent = `This plot could not be drawn: ${error.message}.`;
      div.replaceChildren(message);
    }
  }
};
