// Limits of a vertical axis that a run which diverged does not flatten.

// The highest value to show of the curves by their groups, or null if they fit together: five times the middle half's
// width above it, and never below where a curve starts.
const robustLimit = (curves) => {
  const values = curves.flatMap(({ y }) => y.filter(Number.isFinite)).sort((a, b) => a - b);
  if (values.length === 0) return null;
  const quantile = (share) => values[Math.floor(share * (values.length - 1))];
  const [lower, upper] = [quantile(0.25), quantile(0.75)];
  const starts = curves.map(({ y }) => y.find(Number.isFinite)).filter(Number.isFinite);
  const limit = Math.max(upper + 5 * (upper - lower), ...starts);
  const highest = values[values.length - 1];
  return limit > 0 && highest > 2 * limit ? limit : null;
};

// Writes below a plot which runs leave it at the top; no names, no note.
const noteCut = (figure, names) => {
  let note = figure.querySelector(".note");
  if (!note) {
    note = document.createElement("p");
    note.className = "note";
    figure.append(note);
  }
  note.hidden = names.length === 0;
  note.textContent = `Cut at the top: ${names.join("; ")}. “Every value” shows all of it.`;
};
