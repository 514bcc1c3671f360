// The data of a Vega-Lite specification. The schema is in ../CHARTS.md.
//
// Transforms of the specification are not applied: a chart that has some comes without data, as does one whose encodings
// say more than is computed here. The same in Python: ../python/vega_charts.py.

import * as data from './chart_data.mjs';
import { Array, Map, Math, Number, Object, Set, String } from './intrinsics.mjs';

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
const ELSEWHERE = ['x2', 'y2', 'theta2', 'row', 'column', 'facet']; // channels by which marks stand or end where no rule here has them
const BIN_OPTIONS = { maxbins: 1, step: 1e-300, minstep: 0 }; // and the least that one may be; beside these, `nice`
const ELEMENTS_MAX = 10_000;
const TIME_UNITS = { year: [4, '-01-01', 'year'], yearmonth: [7, '-01', 'year-month'], yearmonthdate: [10, '', 'year-month-date'] };
const DAY = /^\d{4}-\d\d-\d\d([T ][\d:.]+)?$/; // without a zone: in another it may be another day

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
  const isPlain = Object.entries(here.data?.format ?? {}).every(([key, value]) => key === 'type' && value === 'json');
  const given = Array.isArray(values) && isPlain ? values.filter((row) => typeof row === 'object' && row !== null) : [];
  const rows = inTimeUnits(given, fieldsOf(here.encoding));
  const hasOwnWhiskers = mark === 'boxplot' && (spec.mark.extent ?? 1.5) !== 1.5;
  if (rows.length && KINDS[mark] && !hasOwnWhiskers && isComputed(KINDS[mark], here.encoding, rows)) {
    charts.push(chartOf(KINDS[mark], here, rows));
  }
  return charts;
}

// All that the encoding says of fields, also lists and conditions.
function fieldsOf(encoding) {
  const [waiting, found] = [Object.values(encoding), []];
  while (waiting.length) {
    const one = waiting.pop();
    if (Array.isArray(one)) waiting.push(...one);
    else if (typeof one === 'object' && one !== null) {
      found.push(one);
      waiting.push(one.condition);
    }
  }
  return found;
}

// The rows with the beginnings of their years, months or days; none where a unit is another, or a field has two.
function inTimeUnits(rows, every) {
  for (const { timeUnit, field } of every.filter((one) => one.timeUnit)) {
    const isSame = every.every((one) => one.field !== field || one.timeUnit === timeUnit);
    const isDay = (row) => typeof row[field] === 'string' && DAY.test(row[field]);
    if (!Object.hasOwn(TIME_UNITS, timeUnit) || !isSame || !rows.every(isDay)) return [];
    const [length, end] = TIME_UNITS[timeUnit];
    rows = rows.map((row) => ({ ...row, [field]: row[field].slice(0, length) + end }));
  }
  return rows;
}

// Whether the rules here have all that changes numbers between the rows and what is drawn.
function isComputed(kind, encoding, rows) {
  const every = fieldsOf(encoding);
  const [x, y, color, theta] = ['x', 'y', 'color', 'theta'].map((name) => encoding[name] ?? {});
  if (ELSEWHERE.some((name) => encoding[name]) || [x, y, theta].some((one) => 'datum' in one || 'value' in one)) return false;
  if (every.some((one) => one.impute || ['normalize', 'center'].includes(one.stack))) return false;
  const fields = [x, y, color, theta].map((one) => one.field).filter((field) => field !== undefined);
  if (!fields.every((field) => rows.some((row) => Object.hasOwn(row, field)))) return false; // one within another, or none
  if (every.some((one) => one.bin)) return kind === 'bar' && isCountedInBins(...(x.bin ? [x, y] : [y, x]), color, every);
  const aggregates = every.map((one) => one.aggregate).filter(Boolean);
  if (aggregates.length === 0) return true;
  if (!aggregates.every((one) => typeof one === 'string' && Object.hasOwn(AGGREGATES, one))) return false;
  const [along, height] = isSideways(x, y) ? [y, x] : [x, y];
  const series = [height, ...(isNamed(color) ? [along, color] : [along])];
  const [value, ...groups] = { pie: [theta, color], heatmap: [color, x, y] }[kind] ?? series;
  if (!value.aggregate) return kind === 'scatter' && !x.aggregate && !y.aggregate;
  const grouped = groups.map((one) => one.field);
  return kind !== 'box' && !groups.some((one) => one.aggregate) &&
    every.every((one) => one.aggregate || one.field === undefined || grouped.includes(one.field));
}

// Counts have bars of their own for each value of what is neither binned nor aggregated: that may be the colour's names only.
function isCountedInBins(binned, counted, color, every) {
  const isKnown = ([name, value]) =>
    name === 'nice' || (Object.hasOwn(BIN_OPTIONS, name) && data.number(value) !== null && value >= BIN_OPTIONS[name]);
  if (!['boolean', 'object'].includes(typeof binned.bin) || !Object.entries(binned.bin).every(isKnown)) return false;
  const splits = every.filter((one) => one !== binned && one.field !== undefined && !one.aggregate);
  const isSplitByNames = isNamed(color) && splits.every((one) => one.field === color.field);
  const isAlone = every.filter((one) => one.bin).length === 1;
  return isAlone && counted.aggregate === 'count' && !color.aggregate && (splits.length === 0 || isSplitByNames);
}

const isNamed = ({ type }) => ['nominal', 'ordinal'].includes(type);
const isSideways = (x, y) => x.type === 'quantitative' && ['nominal', 'ordinal', 'temporal'].includes(y.type);

function chartOf(kind, { encoding, title }, rows) {
  const [x, y, color, theta] = ['x', 'y', 'color', 'theta'].map((name) => encoding[name] ?? {});
  const chart = { type: kind, title, elements: [] };
  const binned = [x, y].find((channel) => channel.bin);
  if (kind === 'bar' && binned) {
    chart.type = 'histogram';
    chart.elements = countsOf(rows, binned, color);
  } else if (kind === 'pie') {
    chart.elements = data.fractions(aggregated(rows, color, theta));
  } else if (kind === 'heatmap') {
    chart.elements = heatmapOf(rows, x, y, color);
  } else {
    chart.elements = seriesOf(kind, rows, x, y, color);
  }
  return { ...chart, x: axisOf(x, rows), y: axisOf(y, rows) };
}

// All groups are counted in one set of bins, as they are drawn.
function countsOf(rows, { field, bin }, color) {
  const known = rows.filter((row) => row[field] !== null && row[field] !== undefined && !Number.isNaN(row[field]));
  if (!known.length || known.some((row) => data.number(row[field]) === null)) return []; // also others may be drawn as numbers
  const groups = grouped(known, (row) => row[color.field]);
  const { start, step, count } = binsOf(known.map((row) => row[field]), bin);
  if (!(count * groups.size <= ELEMENTS_MAX)) return [];
  const end = (i) => Number((start + i * step).toPrecision(15));
  return [...groups].flatMap(([name, some]) => {
    const counts = new Array(count).fill(0);
    for (const { [field]: value } of some) {
      const inside = Math.max(start, Math.min(value, start + (count - 1) * step));
      if (value <= start + count * step) counts[Math.floor(1e-14 + (inside - start) / step)] += 1;
    }
    const group = color.field !== undefined && { group: String(name ?? null) };
    return counts.map((one, i) => ({ from: end(i), to: end(i + 1), count: one, ...group }));
  });
}

// Where they start, how wide they are, and how many: as vega makes them (bin.js of vega-statistics).
function binsOf(values, { maxbins = 10, step: given, minstep = 0, nice = true }) {
  let [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const span = high - low || Math.abs(low) || 1;
  let step = given;
  if (!step) {
    step = Math.max(minstep, 10 ** (Math.round(Math.log(span) / Math.log(10)) - Math.ceil(Math.log(maxbins) / Math.log(10))));
    while (Math.ceil(span / step) > maxbins) step *= 10;
    for (const divisor of [5, 2]) {
      if (step / divisor >= minstep && span / (step / divisor) <= maxbins) step /= divisor;
    }
  }
  if (nice) {
    const precision = step >= 1 ? 0 : Math.floor(-Math.log(step) / Math.log(10)) + 1;
    const start = Math.floor(low / step + 10 ** (-precision - 1)) * step;
    [low, high] = [low < start ? start - step : start, Math.ceil(high / step) * step];
  }
  return { start: low, step, count: high === low ? 1 : Math.ceil((high - low) / step) };
}

function seriesOf(kind, rows, x, y, color) {
  const sideways = isSideways(x, y);
  const [along, value] = sideways ? [y, x] : [x, y];
  return [...grouped(rows, (row) => (isNamed(color) ? row[color.field] : undefined))].flatMap(([name, some]) => {
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
    return xs.map((a) => (cells.has(a) ? aggregated(cells.get(a), {}, color).at(-1)?.[1] ?? null : null));
  });
  return [data.heatmap(xs, ys, values)];
}

function axisOf(channel, rows) {
  const { field, aggregate, bin, timeUnit } = channel;
  let { title } = channel;
  let how = '';
  if (title === undefined) {
    if (aggregate === 'count') title = 'Count of Records';
    else if (typeof aggregate === 'string') title = `${aggregate[0].toUpperCase()}${aggregate.slice(1)} of ${field}`;
    else {
      how = bin ? 'binned' : timeUnit ? TIME_UNITS[timeUnit][2] : '';
      title = how ? `${field} (${how})` : field;
    }
  }
  let scale = { nominal: 'categorical', ordinal: 'categorical', temporal: 'datetime' }[channel.type] ?? 'linear';
  if (channel.scale?.type === 'log') scale = 'log';
  const described = data.axis(title, rows.map((row) => row[field]), scale);
  if (how) delete described.unit; // the brackets have none
  return described;
}

function titleOf(spec) {
  const title = spec?.title?.text ?? spec?.title;
  return Array.isArray(title) ? title.join(' ') : String(title ?? '');
}
