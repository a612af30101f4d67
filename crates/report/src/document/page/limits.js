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

// From where to where the vertical axis goes: the curves whole up to `highest`, a band only as far as it takes no more
// than their height above and below them. Null where nothing is cut off.
const limits = (curves, edges, highest) => {
  const ends = (traces) => {
    const values = traces.flatMap(({ y }) => y.filter(Number.isFinite));
    return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
  };
  const [low, top] = ends(curves);
  const high = highest === null ? top : highest;
  const height = high - low;
  const [bandLow, bandHigh] = ends(edges);
  const isWide = bandLow < low - height || bandHigh > high + height;
  if (!(height > 0) || (highest === null && !isWide)) return null;
  const from = Math.min(low, Math.max(bandLow, low - height));
  const to = highest === null ? Math.max(high, Math.min(bandHigh, high + height)) : high;
  const margin = 0.05 * (to - from);
  return [from - margin, to + margin];
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
