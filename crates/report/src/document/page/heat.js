// The heat map of the two settings that the reader chooses.
const connectHeat = (page, redraw) => {
  const selects = ["heat-across", "heat-up"].map((id) => document.getElementById(id));
  if (selects.includes(null)) return;
  const mean = (values) => (values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : null);
  const update = () => {
    const [across, up] = selects.map((select) => page.factors[Number(select.value)]);
    const at = (x, y) => page.accuracies.filter((value, group) => value !== null && across.of[group] === x && up.of[group] === y);
    const { data: [map], layout } = page.charts.heat;
    const words = (factor) => factor.values.map((text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"));
    [map.x, map.y] = [words(across), words(up)];
    map.z = up.values.map((_, y) => across.values.map((_, x) => mean(at(x, y))));
    [layout.xaxis.title.text, layout.yaxis.title.text] = [across.key, up.key];
  };
  update();
  for (const select of selects) {
    select.addEventListener("change", () => {
      update();
      redraw();
    });
  }
};
