// The theme: as the system has it, or as the reader chose it.
const darkStyle = document.getElementById("dark");
const systemTheme = darkStyle.media;

const inLightTheme = (work) => {
  const media = darkStyle.media;
  darkStyle.media = "not all";
  try {
    return work();
  } finally {
    darkStyle.media = media;
  }
};

const connectTheme = (redraw, signal) => {
  const chosen = document.getElementById("theme");
  const media = { system: systemTheme, light: "not all", dark: "all" };
  chosen.addEventListener("change", () => {
    darkStyle.media = media[chosen.value];
    document.documentElement.style.colorScheme = chosen.value === "system" ? "light dark" : chosen.value;
    redraw();
  });
  matchMedia(systemTheme).addEventListener("change", redraw, { signal });
};
