// The band around a curve: traces for its edges, and in words what the reader points at.
const bandTraces = (mean, band) => {
  if (!band) return [];
  const edge = { type: "scatter", mode: "lines", x: mean.x, hoverinfo: "skip", meta: "edge", legendgroup: mean.legendgroup };
  return [
    { ...edge, y: band.low, line: { width: 0 } },
    { ...edge, y: band.high, line: { width: 0 }, fill: "tonexty" },
  ];
};

// A ring around the last point of a curve.
const endMark = (mean) => {
  const last = mean.y.reduce((found, value, at) => (value === null ? found : at), 0);
  return {
    type: "scatter", mode: "markers", x: mean.x.map((x, at) => (at === last ? x : null)), y: mean.y.map((y, at) => (at === last ? y : null)),
    marker: { symbol: "circle-open", size: 11, line: { width: 2 } }, hoverinfo: "skip", meta: "end", legendgroup: mean.legendgroup,
  };
};

const inWords = (mean, band, asPercent) => {
  const text = (value) => (value === null || value === undefined ? "–" : asPercent ? `${(100 * value).toFixed(1)}\u00a0%` : String(Number(value.toPrecision(4))));
  return mean.y.map((value, at) => {
    const [low, high] = band ? [text(band.low[at]), text(band.high[at])] : ["", ""];
    return low === high ? text(value) : `${text(value)}  (${low} to ${high})`;
  });
};
