// Colour and dash of a group: they follow the value of a setting, by when it first came into the sweep, so that a value keeps its
// colour when others are added. Without settings that vary, they follow the group's own place.
const looks = (page) => {
  const dashes = ["solid", "dash", "dot", "dashdot"];
  const hues = 14;
  let chosen = 0;
  // Methods are what most pages compare, so dashes tell them apart wherever they stand among the settings.
  const second = () => {
    const others = page.factors.filter((_, at) => at !== chosen);
    return others.find((factor) => factor.key === "algorithm") || others[0];
  };
  const look = (factor, group) => factor.colours[factor.of[group]];
  const value = (group) => (page.factors.length > 0 ? look(page.factors[chosen], group) : group);
  const dash = (group) => dashes[(second() ? look(second(), group) : Math.floor(value(group) / hues)) % dashes.length];
  // The buttons of the values say which colour or dash each has.
  const legend = () => {
    const samples = { solid: "—", dash: "– –", dot: "···", dashdot: "–·–" };
    [...document.querySelectorAll(".factor")].forEach((factor, at) => {
      [...factor.querySelectorAll(".key")].forEach((key, index) => {
        key.classList.toggle("swatch", at === chosen);
        key.style.background = at === chosen ? `var(--series-${page.factors[at].colours[index] % hues})` : "";
        key.textContent = page.factors[at] === second() ? `${samples[dashes[page.factors[at].colours[index] % dashes.length]]} ` : "";
      });
    });
  };
  const apply = () => {
    legend();
    for (let group = 0; group < (page.accuracies || page.groups).length; group++) {
      document.documentElement.style.setProperty(`--group-${group}`, `var(--series-${value(group) % hues})`);
    }
  };
  const connect = (redraw) => {
    const select = document.getElementById("colours");
    if (select) chosen = Number(select.value);
    apply();
    if (!select) return;
    select.addEventListener("change", () => {
      chosen = Number(select.value);
      apply();
      redraw();
    });
  };
  return { dash, connect };
};
