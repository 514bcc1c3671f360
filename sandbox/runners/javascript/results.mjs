// Values as results: the text node would show, and richer formats where the value offers them.

import util from 'node:util';
import { chartOfChartJs, isChartJs } from './chartjs_charts.mjs';
import { bounded } from './chart_data.mjs';
import { cut, read } from './errors.mjs';
import { handleLine } from './handles.mjs';
import { fitPicture } from './pictures.mjs';
import { shortText } from './short_values.mjs';
import { chartOfVegaLite } from './vega_charts.mjs';
import { Array, Buffer, JSON, Number, Object, Symbol } from './intrinsics.mjs';

const TEXT_CHARACTERS_MAX = 20_000_000;
const MARKUP_CHARACTERS_MAX = 50_000_000;
const JSON_CHARACTERS_MAX = 50_000_000;
const JSON_BYTES_MAX = 4 << 20; // for one message
const PART_BYTES = 4 << 20;
const INLINE_CHARACTERS = 100_000; // for one form of an output; more goes ahead of it, in parts
const SHOWN_CHARACTERS = 20_000; // as much of a long text is shown, besides
const PROSE = ['text', 'markdown']; // half of it still says something
const PLAIN_ITEMS_MAX = 1000;
const PLAIN_DEPTH_MAX = 40; // the host refuses frames nested deeper than 64
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JUPYTER = Symbol.for('Jupyter.display'); // Deno's convention for rich values
const MIME_TYPES = {
  'text/plain': 'text', 'text/html': 'html', 'text/markdown': 'markdown', 'text/latex': 'latex',
  'image/svg+xml': 'svg', 'application/json': 'json',
};

// { output, image }: what goes to the host for one value.
export function outputOf(value, isMain) {
  const found = { text: textOf(value, isMain) };
  let image;
  try {
    image = pictureOf(value);
    if (image) found.text = `PNG image, ${image.length} bytes`;
    else addRich(value, found);
  } catch (failure) {
    found.text += `\n[no rich form: ${read(failure, 'message', 'it cannot be shown')}]`;
  }
  const formats = Object.keys(found);
  if (image) formats.push('png');
  return { output: { is_main_result: isMain, formats, ...found }, image };
}

// Sends an output and its picture; what is too long for a message as parts that come before.
export function sendOutput(send, { output, image }) {
  for (const form of Object.keys(MIME_TYPES).map((type) => MIME_TYPES[type])) {
    const content = form === 'json' && form in output ? JSON.stringify(output.json) : output[form];
    if (!content || content.length <= INLINE_CHARACTERS) continue;
    const bytes = Buffer.from(content);
    for (let start = 0; start < bytes.length; start += PART_BYTES) {
      send({ type: 'part', format: form }, new Uint8Array(bytes.subarray(start, start + PART_BYTES)));
    }
    if (PROSE.includes(form)) output[form] = cut(content, SHOWN_CHARACTERS);
    else delete output[form];
  }
  // The host would take no such frame.
  if (output.chart && JSON.stringify(output.chart).length > JSON_BYTES_MAX / 2) delete output.chart;
  send({ type: 'output', output, ...(image && { image: { mime_type: 'image/png' } }) }, image);
}

function textOf(value, isMain) {
  try {
    const line = isMain ? handleLine(value) : undefined;
    if (line !== undefined) return line;
    return cut(shortText(value, TEXT_CHARACTERS_MAX), TEXT_CHARACTERS_MAX);
  } catch (failure) {
    return `[${typeof value} whose inspection failed: ${read(failure, 'message', 'it cannot be shown')}]`;
  }
}

function pictureOf(value) {
  if (!(value instanceof Uint8Array)) return undefined;
  return PNG.every((byte, i) => value[i] === byte) ? fitPicture(Buffer.from(value)) : undefined;
}

function addRich(value, found) {
  if (value === null || typeof value !== 'object' || util.types.isProxy(value)) return;
  if (typeof value[JUPYTER] === 'function') {
    for (const [mime, content] of Object.entries(value[JUPYTER]() ?? {})) {
      const format = MIME_TYPES[mime] ?? (mime.endsWith('+json') ? 'json' : undefined);
      if (format === 'json') addJson(content, found);
      else if (format && typeof content === 'string' && content.length <= MARKUP_CHARACTERS_MAX) found[format] = content;
    }
  } else if (typeof value.toHTML === 'function') {
    const html = value.toHTML();
    if (typeof html === 'string' && html.length <= MARKUP_CHARACTERS_MAX) found.html = html;
  } else if (typeof value.$schema === 'string' && value.$schema.includes('vega')) {
    addJson(value, found);
    if (value.$schema.includes('vega-lite')) addChart(() => chartOfVegaLite(value), found);
  } else if (typeof value.type === 'string' && isChartJs(value)) {
    addJson({ type: value.type, data: value.data, options: value.options }, found); // for an instance, too
    addChart(() => chartOfChartJs(value), found);
  } else if (isPlain(value)) {
    found.json = value;
  }
}

// Charts are a bonus: nothing that can be shown may fail for want of one.
function addChart(make, found) {
  try {
    const chart = make();
    if (chart) found.chart = JSON.parse(JSON.stringify(bounded(chart)));
  } catch {
    // A specification with something else in it than it should have.
  }
}

function addJson(value, found) {
  const text = JSON.stringify(value);
  if (text !== undefined && text.length <= JSON_CHARACTERS_MAX) found.json = JSON.parse(text);
}

// Whether a value is data through and through (arrays, plain objects, strings, numbers), and small.
function isPlain(value) {
  let budget = PLAIN_ITEMS_MAX;
  const visit = (item, depth) => {
    if (--budget < 0 || depth > PLAIN_DEPTH_MAX) return false;
    if (item === null || typeof item === 'boolean') return true;
    if (typeof item === 'number') return Number.isFinite(item);
    if (typeof item === 'string') return (budget -= item.length / 50) >= 0;
    if (typeof item !== 'object' || util.types.isProxy(item) || util.types.isModuleNamespaceObject(item)) return false;
    if (Array.isArray(item)) return item.length <= budget && item.every((one) => visit(one, depth + 1));
    const prototype = Object.getPrototypeOf(item);
    if ((prototype !== Object.prototype && prototype !== null) || Object.keys(item).length > budget) return false;
    // No getters: asking them would run code of the user a second time.
    return Object.values(Object.getOwnPropertyDescriptors(item))
      .every((one) => 'value' in one && visit(one.value, depth + 1));
  };
  return visit(value, 0) && (Array.isArray(value) ? value.length : Object.keys(value).length) > 0;
}
