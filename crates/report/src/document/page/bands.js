// The band around a curve: traces for its edges, and in words what the reader points at. Each stretch without a gap is filled
// by itself, unless the curve goes on over gaps.
const bandTraces = (mean, band) => {
  if (!band) return [];
  const connectgaps = mean.connectgaps ?? false;
  const edge = { type: "scatter", mode: "lines", x: mean.x, connectgaps, hoverinfo: "skip", meta: "edge", legendgroup: mean.legendgroup };
  return (connectgaps ? [[0, band.low.length - 1]] : stretches(band)).flatMap(([from, to]) => {
    const within = (values) => values.map((value, at) => (at < from || at > to ? null : value));
    return [
      { ...edge, y: within(band.low), line: { width: 0 } },
      { ...edge, y: within(band.high), line: { width: 0 }, fill: "tonexty" },
    ];
  });
};

// The first and the last place of each part of a band that has both edges.
const stretches = ({ low, high }) => {
  const found = [];
  low.forEach((value, at) => {
    if (value === null || high[at] === null) return;
    const last = found[found.length - 1];
    if (last && last[1] === at - 1) last[1] = at;
    else found.push([at, at]);
  });
  return found;
};

// The band on a logarithmic axis: what reaches 0 or less goes down to `floor`, the least that is drawn, and where the curve has
// no place the band has none.
const bandAbove = (mean, band, floor) => {
  const edge = (values) => values.map((value, at) => (value === null || !(mean.y[at] > 0) ? null : Math.max(value, floor)));
  return band && { low: edge(band.low), high: edge(band.high) };
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
