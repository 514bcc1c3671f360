// The data of a Chart.js configuration: { type, data: { labels, datasets }, options }. The schema is
// in ../CHARTS.md.

import * as data from './chart_data.mjs';
import { Array, Object, Set, String } from './intrinsics.mjs';

const KINDS = {
  line: 'line', radar: 'line', scatter: 'scatter', bubble: 'scatter', bar: 'bar',
  pie: 'pie', doughnut: 'pie', polarArea: 'pie', boxplot: 'box',
};

export function isChartJs(value) {
  return Object.hasOwn(KINDS, value.type) && Array.isArray(value.data?.datasets);
}

export function chartOfChartJs({ type, data: { labels = [], datasets }, options = {} }) {
  const title = textOf(options.plugins?.title?.text);
  // A mixed chart has a type for each of its datasets.
  const kinds = [...new Set(datasets.map((set) => KINDS[set.type ?? type]).filter(Boolean))];
  return data.composite(title, kinds.map((kind) => {
    const sets = datasets.filter((set) => KINDS[set.type ?? type] === kind);
    const elements = sets.flatMap((set) => elementsOf(kind, set, labels));
    const sideways = options.indexAxis === 'y';
    const along = labels.length ? labels : elements.flatMap((one) => one.points?.map(([x]) => x) ?? [one.label]);
    const axes = [axisOf(options.scales?.[sideways ? 'y' : 'x'], along), axisOf(options.scales?.[sideways ? 'x' : 'y'], [])];
    if (sideways) axes.reverse();
    return { type: kind, title: '', x: axes[0], y: axes[1], elements };
  }));
}

function elementsOf(kind, set, labels) {
  const label = String(set.label ?? '');
  const values = Array.isArray(set.data) ? set.data : Object.entries(set.data ?? {}).map(([x, y]) => ({ x, y }));
  const pairs = values.map((one, i) => {
    if (Array.isArray(one) && kind !== 'box') return [one[0], one[1]];
    return typeof one === 'object' && one !== null && 'y' in one ? [plain(one.x), one.y] : [plain(labels[i] ?? i), one];
  });
  if (kind === 'bar') return data.bars(pairs, label);
  if (kind === 'pie') return data.fractions(pairs);
  if (kind === 'box') return pairs.map(([name, some]) => (Array.isArray(some) ? data.box(name, some) : null)).filter(Boolean);
  return [data.series(label, pairs)];
}

function plain(value) {
  return value instanceof Date ? value.toISOString() : value;
}

function axisOf(scale, values) {
  const kind = { logarithmic: 'log', time: 'datetime', timeseries: 'datetime', category: 'categorical', linear: 'linear' }[scale?.type];
  return data.axis(textOf(scale?.title?.text), values.map(plain), kind);
}

function textOf(text) {
  return Array.isArray(text) ? text.join(' ') : String(text ?? '');
}
