// The data of a Vega-Lite specification. The schema is in ../CHARTS.md.
//
// Transforms of the specification are not applied: a chart that has some comes without data. The same
// in Python: ../python/vega_charts.py.

import * as data from './chart_data.mjs';
import { Array, Map, Math, Object, Set, String } from './intrinsics.mjs';

const DEPTH_MAX = 20;
const KINDS = {
  line: 'line', area: 'line', trail: 'line', point: 'scatter', circle: 'scatter', square: 'scatter',
  tick: 'scatter', bar: 'bar', arc: 'pie', boxplot: 'box', rect: 'heatmap',
};
const sum = (values) => values.reduce((a, b) => a + b, 0);
const AGGREGATES = {
  count: (values) => values.length,
  sum,
  mean: (values) => sum(values) / values.length,
  average: (values) => sum(values) / values.length,
  min: (values) => values.reduce((a, b) => Math.min(a, b)),
  max: (values) => values.reduce((a, b) => Math.max(a, b)),
  median: (values) => data.box('', values).median,
};

export function chartOfVegaLite(spec) {
  return data.composite(titleOf(spec), chartsOf(spec, {}, spec.datasets ?? {}));
}

// Layers and concatenations take data and encodings from what they stand in.
function chartsOf(spec, above, datasets, depth = 0) {
  if (typeof spec !== 'object' || spec === null || depth > DEPTH_MAX) return [];
  if (spec.transform || spec.facet || spec.repeat) return [];
  const here = {
    data: spec.data ?? above.data,
    title: titleOf(spec) || above.title || '',
    encoding: { ...above.encoding, ...spec.encoding },
  };
  const parts = ['layer', 'hconcat', 'vconcat', 'concat'].flatMap((name) => (Array.isArray(spec[name]) ? spec[name] : []));
  const charts = parts.flatMap((part) => chartsOf(part, here, datasets, depth + 1));
  const mark = spec.mark?.type ?? spec.mark;
  const values = here.data?.values ?? datasets[here.data?.name];
  const rows = Array.isArray(values) ? values.filter((row) => typeof row === 'object' && row !== null) : [];
  if (rows.length && KINDS[mark]) charts.push(chartOf(KINDS[mark], here, rows));
  return charts;
}

function chartOf(kind, { encoding, title }, rows) {
  const [x, y, color, theta] = ['x', 'y', 'color', 'theta'].map((name) => encoding[name] ?? {});
  const chart = { type: kind, title, elements: [] };
  const binned = [x, y].find((channel) => channel.bin);
  if (kind === 'bar' && binned) {
    chart.type = 'histogram';
    chart.elements = data.histogram(rows.map((row) => row[binned.field]), binned.bin.maxbins ?? 10);
  } else if (kind === 'pie') {
    chart.elements = data.fractions(aggregated(rows, color, theta));
  } else if (kind === 'heatmap') {
    chart.elements = heatmapOf(rows, x, y, color);
  } else {
    chart.elements = seriesOf(kind, rows, x, y, color);
  }
  return { ...chart, x: axisOf(x, rows), y: axisOf(y, rows) };
}

function seriesOf(kind, rows, x, y, color) {
  const isNamed = ['nominal', 'ordinal'].includes(color.type);
  const sideways = x.type === 'quantitative' && ['nominal', 'ordinal', 'temporal'].includes(y.type);
  const [along, value] = sideways ? [y, x] : [x, y];
  return [...grouped(rows, (row) => (isNamed ? row[color.field] : undefined))].flatMap(([name, some]) => {
    const label = String(name ?? '');
    if (kind === 'box') {
      return [...grouped(some, (row) => row[along.field])]
        .map(([key, part]) => data.box(key ?? '', part.map((row) => row[value.field]))).filter(Boolean);
    }
    let pairs = aggregated(some, along, value);
    if (kind === 'bar') return data.bars(pairs, label);
    if (kind === 'line') pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    if (sideways) pairs = pairs.map(([a, b]) => [b, a]);
    return [data.series(label, pairs)];
  });
}

function grouped(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

// [position, value] of each row; with an aggregate, one for each position.
function aggregated(rows, along, { aggregate, field }) {
  if (!aggregate) return rows.map((row) => [row[along.field] ?? null, row[field] ?? null]);
  if (!Object.hasOwn(AGGREGATES, aggregate)) return [];
  return [...grouped(rows, (row) => row[along.field] ?? null)].flatMap(([position, some]) => {
    const items = some.map((row) => (aggregate === 'count' ? 0 : data.number(row[field]))).filter((one) => one !== null);
    return items.length ? [[position, AGGREGATES[aggregate](items)]] : [];
  });
}

function heatmapOf(rows, x, y, color) {
  const [xs, ys] = [x, y].map(({ field }) => [...new Set(rows.map((row) => row[field] ?? null))]);
  const columns = grouped(rows, (row) => row[y.field] ?? null);
  const values = ys.map((b) => {
    const cells = grouped(columns.get(b), (row) => row[x.field] ?? null);
    return xs.map((a) => (cells.has(a) ? aggregated(cells.get(a), {}, color)[0]?.[1] ?? null : null));
  });
  return [data.heatmap(xs, ys, values)];
}

function axisOf(channel, rows) {
  const { field, aggregate, bin } = channel;
  let { title } = channel;
  if (title === undefined) {
    if (aggregate === 'count') title = 'Count of Records';
    else if (typeof aggregate === 'string') title = `${aggregate[0].toUpperCase()}${aggregate.slice(1)} of ${field}`;
    else title = bin ? `${field} (binned)` : field;
  }
  let scale = { nominal: 'categorical', ordinal: 'categorical', temporal: 'datetime' }[channel.type] ?? 'linear';
  if (channel.scale?.type === 'log') scale = 'log';
  return data.axis(title, rows.map((row) => row[field]), scale);
}

function titleOf(spec) {
  const title = spec?.title?.text ?? spec?.title;
  return Array.isArray(title) ? title.join(' ') : String(title ?? '');
}
