// The file and its name may be hostile: they go into the page as text, or into a frame that cannot reach it.
"use strict";

const BYTES_SHOWN = 256 * 1024;
const ROWS_SHOWN = 500;
const COLUMNS_SHOWN = 50;
const JSON_CHARACTERS_SHOWN = 2 * 1024 * 1024;

const IS_TABLE = /^(text|application)\/csv$|^text\/tab-separated-values$/;
const IS_JSON = /^application\/(.+\+)?json$/;
const IS_TEXT = /^text\/|^application\/(x-)?(ndjson|xml|yaml|toml|sql|javascript|typescript|sh|shellscript|tex|php)$|\+(xml|yaml)$/;
const OFFICE = "application/vnd.openxmlformats-officedocument.";
const LABELS = {
  "text/html": "Web page",
  "text/markdown": "Markdown",
  "application/pdf": "PDF document",
  "application/zip": "ZIP archive",
  "application/octet-stream": "Binary file",
  [`${OFFICE}spreadsheetml.sheet`]: "Excel workbook",
  [`${OFFICE}wordprocessingml.document`]: "Word document",
  [`${OFFICE}presentationml.presentation`]: "PowerPoint presentation",
};

// Behind a proxy the page may lie deeper than hutch knows.
const base = location.pathname.replace(/\/$/, "");
const byId = (id) => document.getElementById(id);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
const count = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

class Gone extends Error {}

function size(bytes) {
  if (bytes < 1024) return count(bytes, "byte");
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 3);
  const value = bytes / 1024 ** power;
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} ${["KB", "MB", "GB"][power - 1]}`;
}

function labelOf(type) {
  if (LABELS[type]) return LABELS[type];
  const [kind, format] = type.split("/");
  if (["image", "audio", "video"].includes(kind)) return `${format.replace(/^x-|\+xml$/g, "").toUpperCase()} ${kind}`;
  if (IS_TABLE.test(type)) return "Table";
  return IS_JSON.test(type) ? "JSON" : IS_TEXT.test(type) ? "Text" : type;
}

function introduce(file) {
  const when = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  const expiry = file.expires_at ? `Expires ${when.format(new Date(file.expires_at))}` : "Does not expire";
  const facts = [labelOf(file.type), size(file.bytes), expiry];
  document.title = byId("name").textContent = file.filename;
  byId("badge").textContent = /\.(\w{1,5})$/.exec(file.filename)?.[1].toUpperCase() ?? "FILE";
  byId("facts").replaceChildren(...facts.map((textContent) => make("li", { textContent })));
  Object.assign(byId("download"), { href: file.url, download: file.filename, hidden: false });
}

function show(line, node) {
  byId("line").textContent = line;
  byId("content").replaceChildren(node);
  byId("content").tabIndex = node.matches("pre, table") ? 0 : -1; // the keyboard must reach what scrolls
}

const tell = (text) => show("", make("p", { className: "message", textContent: text }));
const tellNotShown = () => tell("This browser cannot show this file. Download it to open it.");

// The first BYTES_SHOWN, up to a whole character; no more is read even where a proxy knows no ranges.
async function beginningOf(file) {
  const answer = await fetch(file.url, { headers: { Range: `bytes=0-${BYTES_SHOWN - 1}` } });
  if (answer.status === 404) throw new Gone();
  if (answer.status === 416) return { text: "", isWhole: true };
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (bytes < BYTES_SHOWN) {
    const { done, value } = await reader.read();
    if (done) break;
    const piece = value.subarray(0, BYTES_SHOWN - bytes);
    bytes += piece.length;
    text += decoder.decode(piece, { stream: true });
  }
  await reader.cancel();
  const isWhole = bytes >= file.bytes;
  return { text: isWhole ? text + decoder.decode() : text, isWhole };
}

const partOf = (file) => `first ${size(BYTES_SHOWN)} of ${size(file.bytes)}`;

function showText(file, { text, isWhole }) {
  const lines = isWhole ? text : text.slice(0, text.lastIndexOf("\n") + 1) || text;
  const className = /^text\/(plain|markdown)$/.test(file.type) ? "prose" : "";
  show(isWhole ? "" : `The ${partOf(file)}`, make("pre", { className, textContent: lines }));
}

// From its own characters: by way of values, long numbers would change and keys would move.
function laidOut(json) {
  let out = "";
  let depth = 0;
  for (const [token] of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[{]\s*[\]}]|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    if (token === "]" || token === "}") depth -= 1;
    if (token === "[" || token === "{") depth += 1;
    const line = `\n${"  ".repeat(depth)}`;
    if (token === "]" || token === "}") out += line + token;
    else if (token === "[" || token === "{" || token === ",") out += token + line;
    else if (token === ":") out += ": ";
    else out += token.startsWith('"') ? token : token.replace(/\s/g, "");
    if (out.length > JSON_CHARACTERS_SHOWN) return json;
  }
  return out;
}

function showJson(file, { text, isWhole }) {
  let shown = text;
  try {
    if (isWhole) JSON.parse(text);
    if (isWhole) shown = laidOut(text);
  } catch {
    // Then as it is.
  }
  showText(file, { text: shown, isWhole });
}

// RFC 4180, with an empty row inside of each "\r\n"; isQuoted: the text ends inside of quotes.
function rowsOf(text, separator) {
  const rows = [];
  let row = [];
  let cell = "";
  let isQuoted = false;
  for (let i = 0; i <= text.length; ++i) {
    const c = text[i];
    const isEnd = c === undefined || (!isQuoted && (c === "\n" || c === "\r"));
    if (isEnd || (!isQuoted && c === separator)) {
      row.push(cell);
      cell = "";
      if (isEnd) rows.push(row);
      if (isEnd) row = [];
    } else if (c !== '"' || (!isQuoted && cell !== "")) {
      cell += c;
    } else if (isQuoted && text[i + 1] === '"') {
      cell += text[++i];
    } else {
      isQuoted = !isQuoted;
    }
  }
  return { rows, isQuoted };
}

// Only of short ones: on long rows of digits the pattern would take its time.
const isNumber = (cell) => cell.length < 40 && /^\s*[-+]?[$€£]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?\s?%?\s*$/i.test(cell);
const isMissing = (cell) => /^(nan|na|n\/a|null|none|-|)$/i.test(cell);

function tableOf(head, body, columns) {
  const classes = Array.from({ length: columns }, (_, i) => {
    const cells = body.map((row) => row[i] ?? "").filter((cell) => !isMissing(cell));
    return cells.length > 0 && cells.every(isNumber) ? "number" : "";
  });
  const fill = (row, cells, tag, properties) => row.append(...classes.map((className, i) =>
    make(tag, { className, textContent: cells[i] ?? "", ...properties })));
  const table = make("table");
  fill(table.createTHead().insertRow(), head, "th", { scope: "col" });
  const rows = table.createTBody();
  for (const cells of body) fill(rows.insertRow(), cells, "td");
  return table;
}

function showTable(file, beginning) {
  const { text, isWhole } = beginning;
  const firstLine = text.slice(0, text.search(/[\r\n]|$/));
  const separators = file.type === "text/tab-separated-values" ? ["\t"] : [",", ";", "\t"];
  const { rows, isQuoted } = rowsOf(text, separators.find((one) => firstLine.includes(one)) ?? separators[0]);
  if (!isWhole) rows.pop();
  const [head, ...body] = rows.filter((row) => row.length > 1 || row[0] !== "");
  // A quote that nothing closes has swallowed what follows it.
  if (!head || (isWhole ? isQuoted : body.length === 0)) return showText(file, beginning);
  const shown = body.slice(0, ROWS_SHOWN);
  const columns = [head, ...shown].reduce((most, row) => Math.max(most, row.length), 0);
  const firstOf = (part, whole, thing) => part < whole ? `first ${part} of ${count(whole, thing)}` : count(whole, thing);
  const said = [isWhole ? firstOf(shown.length, body.length, "row") : `first ${count(shown.length, "row")}`,
    firstOf(Math.min(columns, COLUMNS_SHOWN), columns, "column"), ...(isWhole ? [] : [`from the ${partOf(file)}`])];
  show(said.join(", ").replace(/^f/, "F"), tableOf(head, shown, Math.min(columns, COLUMNS_SHOWN)));
}

async function showPicture(file) {
  const image = make("img", { alt: `The picture ${file.filename}`, src: file.view });
  show("", image);
  const isShown = await new Promise((resolve) => {
    image.addEventListener("load", () => resolve(true));
    image.addEventListener("error", () => resolve(false));
  });
  if (!isShown) return tellNotShown();
  byId("line").textContent = `${image.naturalWidth} × ${image.naturalHeight} pixels`;
}

function showMedia(file, tag) {
  const media = make(tag, { controls: true, preload: "metadata", src: file.view, ariaLabel: file.filename });
  media.addEventListener("error", tellNotShown);
  show("", media);
}

function showFrame(file, line, properties) {
  show(line, make("iframe", { title: file.filename, ...properties, src: file.view }));
}

async function preview(file) {
  const { type } = file;
  if (file.bytes === 0) return tell("This file is empty.");
  if (type.startsWith("image/")) return showPicture(file);
  if (/^(audio|video)\//.test(type)) return showMedia(file, type.slice(0, 5));
  if (type === "text/html") return showFrame(file, "Shown by itself, without what it would load from the network", { sandbox: "allow-scripts" });
  if (type === "application/pdf") return navigator.pdfViewerEnabled === false ? tellNotShown() : showFrame(file, "", {});
  if (IS_TABLE.test(type)) return showTable(file, await beginningOf(file));
  if (IS_JSON.test(type)) return showJson(file, await beginningOf(file));
  if (IS_TEXT.test(type)) return showText(file, await beginningOf(file));
  tell("There is no preview for this type of file. Download it to open it.");
}

function tellGone() {
  document.title = byId("name").textContent = "This link has expired or was taken back";
  byId("badge").replaceChildren();
  byId("facts").replaceChildren();
  byId("download").hidden = true;
  tell("Ask whoever sent it to you to share the file again.");
}

async function main() {
  const answer = await fetch(`${base}?part=about`);
  if (answer.status === 404) throw new Gone();
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const file = await answer.json();
  file.type = file.mime_type.toLowerCase();
  file.url = `${base}/${encodeURIComponent(file.filename)}`;
  file.view = `${file.url}?view`;
  introduce(file);
  await preview(file);
}

main()
  .catch((error) => error instanceof Gone ? tellGone() : tell("This did not load. Check your connection and load the page again."))
  .finally(() => byId("main").setAttribute("aria-busy", "false"));
