// Makes the data of charts from plain values. The schema is in ../CHARTS.md; the same in Python:
// ../python/chart_data.py.

import { Array, Math, Number, Object, Set, String } from './intrinsics.mjs';

const POINTS_MAX = 50_000; // for a chart: so many go into its file; the host keeps fewer in a result
const ELEMENTS_MAX = 10_000;
const CELLS_MAX = 10_000; // for a heatmap
const CELLS_SHOWN = 60; // so many are in the text of an answer, mostly; the host samples those of larger ones
const TICKS_MAX = 30;
const DATE = /^\d{4}-\d\d(-\d\d)?([T ]\d\d:\d\d.*)?$/;

// `values` tell the scale when the library does not.
export function axis(label, values = [], scale = undefined) {
  const described = { label: String(label ?? ''), scale: scale ?? scaleOf(values) };
  const unit = described.label.match(/[([]([^()[\]]+)[)\]]\s*$/);
  if (unit) described.unit = unit[1];
  if (described.scale === 'categorical') {
    described.ticks = [...new Set(values.filter((one) => one != null).map(String))].slice(0, TICKS_MAX);
  }
  return described;
}

function scaleOf(values) {
  const known = values.filter((one) => one != null);
  if (known.length && known.every((one) => typeof one === 'string' && DATE.test(one))) return 'datetime';
  return known.some((one) => typeof one === 'string') ? 'categorical' : 'linear';
}

// A finite number, or null.
export function number(value) {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

// A line or a cloud of points, thinned evenly; the ends, the lowest and the highest stay.
export function series(label, pairs, most = POINTS_MAX) {
  const count = pairs.length;
  if (count <= most) return { label, points: pairs };
  const places = new Set([0, count - 1]);
  for (let i = 1; i < most - 3; i += 1) places.add(Math.floor((i * (count - 1)) / (most - 3)));
  let [low, high] = [-1, -1];
  pairs.forEach(([, y], i) => {
    if (number(y) === null) return;
    if (low < 0 || y < pairs[low][1]) low = i;
    if (high < 0 || y > pairs[high][1]) high = i;
  });
  if (low >= 0) places.add(low).add(high);
  return { label, points: [...places].sort((a, b) => a - b).map((i) => pairs[i]), sampled: true };
}

// The chart with at most POINTS_MAX points in all its series.
export function bounded(chart) {
  const every = seriesOf(chart);
  const total = every.reduce((sum, one) => sum + one.points.length, 0);
  if (total <= POINTS_MAX) return chart;
  const most = Math.max(4, Math.floor(POINTS_MAX / every.length));
  for (const one of every) Object.assign(one, series(one.label, one.points, most));
  return chart;
}

function seriesOf(chart) {
  return (chart?.elements ?? []).flatMap((one) => (one.points ? [one] : (one.charts ?? []).flatMap(seriesOf)));
}

export function bars(pairs, group = '') {
  return pairs.map(([label, value]) => ({ label: String(label), value: number(value), ...(group && { group }) }));
}

export function fractions(pairs) {
  const total = pairs.reduce((sum, [, value]) => sum + (number(value) ?? 0), 0);
  if (!total) return [];
  return pairs.map(([label, value]) => ({ label: String(label), fraction: Math.round((number(value) ?? 0) / total * 1e6) / 1e6 }));
}

// Whiskers reach to the last values within 1.5 boxes.
export function box(label, values) {
  const known = values.map(number).filter((one) => one !== null).sort((a, b) => a - b);
  if (!known.length) return null;
  const [low, median, high] = [0.25, 0.5, 0.75].map((q) => quantile(known, q));
  const reach = 1.5 * (high - low);
  const inside = known.filter((one) => one >= low - reach && one <= high + reach);
  const [min, max] = [inside[0], inside.at(-1)];
  return {
    label: String(label), min, first_quartile: low, median, third_quartile: high, max,
    outliers: known.filter((one) => one < min || one > max).slice(0, ELEMENTS_MAX),
  };
}

function quantile(ordered, q) {
  const place = q * (ordered.length - 1);
  const below = Math.floor(place);
  return ordered[below] + (ordered[Math.min(below + 1, ordered.length - 1)] - ordered[below]) * (place - below);
}

export function heatmap(x, y, values) {
  let every = 1;
  while ((Math.floor(y.length / every) + 1) * (Math.floor(x.length / every) + 1) > CELLS_MAX) every += 1;
  const thinned = (list) => list.filter((_, i) => i % every === 0);
  const made = { x: thinned(x), y: thinned(y), values: thinned(values).map((row) => thinned(row).map(number)) };
  if (x.length * y.length > CELLS_SHOWN) Object.assign(made, endsOf(x, y, values));
  return every === 1 ? made : { ...made, sampled: true };
}

// The highest and the lowest cell, which may be in none of the rows that stay.
function endsOf(x, y, values) {
  const found = {};
  values.forEach((row, i) => row.forEach((given, j) => {
    const value = number(given);
    if (value === null) return;
    if (!found.highest || value > found.highest.value) found.highest = { x: x[j], y: y[i], value };
    if (!found.lowest || value < found.lowest.value) found.lowest = { x: x[j], y: y[i], value };
  }));
  return found;
}

// One chart for a figure of several; undefined for none.
export function composite(title, charts) {
  const found = charts.filter((chart) => chart?.elements.length);
  if (found.length <= 1) return found[0] && { ...found[0], title: found[0].title || title };
  return { type: 'composite', title, elements: [{ charts: found }] };
}
