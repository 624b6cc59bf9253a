// Calls of the service, and how a source and a place in it look. Everything foreign enters the page as text.

import { language, phrase, say } from "./text.js";

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export class Problem extends Error {
  constructor(body) {
    super(body.detail || body.title);
    this.kind = (body.type || "").split(":").pop();
    this.remedy = body.remedy || "";
  }
}

function headers() {
  const key = sessionStorage.getItem("key");
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export async function call(path, body, signal) {
  return (await send(path, body, signal, "application/json")).json();
}

async function send(path, body, signal, accept) {
  const options = { headers: { ...headers(), Accept: accept }, signal };
  if (body) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: say("offline") });
  }
  if (response.status === 401) {
    await askForKey();
    return send(path, body, signal, accept);
  }
  if (!response.ok) throw new Problem(await response.json().catch(() => ({ detail: response.statusText })));
  return response;
}

// The events of an answer as they come: objects with `event`. An event ends with a blank line, wherever a piece was cut.
export async function* events(path, body, signal) {
  const response = await send(path, body, signal, "text/event-stream");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new Problem({ detail: say("offline") });
    });
    if (done) return;
    const parts = (held + value).split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (!fields.data) continue;
      const data = JSON.parse(fields.data);
      if (fields.event === "problem") throw new Problem(data);
      yield data;
    }
  }
}

function askForKey() {
  const dialog = document.getElementById("key");
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("key", document.getElementById("secret").value);
      resolve();
    }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
}

// An image of a page. With a key it is fetched, because an <img> carries no header.
export function pageImage(path, alt) {
  const image = el("img", { alt, loading: "lazy", class: "slide" });
  image.addEventListener("error", () => image.remove());
  if (!sessionStorage.getItem("key")) image.src = path;
  else fetch(path, { headers: headers() }).then((r) => (r.ok ? r.blob() : Promise.reject(r))).then(
    (blob) => { image.src = URL.createObjectURL(blob); }, () => image.remove());
  return image;
}

const moment = (ms) => {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return [...(hours ? [hours] : []), ...[minutes, rest].map((n) => String(n).padStart(2, "0"))].join(":");
};

export function place(locator, lang = language(), title = "") {
  if (locator.type === "time") return `${moment(locator.start_ms)}–${moment(locator.end_ms)}`;
  if (locator.type === "page") return phrase(lang, "page", { n: locator.number }) + (locator.label ? ` (${locator.label})` : "");
  const { line_start: first, line_end: last } = locator;
  const lines = phrase(lang, first === last ? "line" : "lines", { n: first, first, last });
  return [...locator.heading_path.filter((heading) => heading !== title).slice(-2), lines].join(" › ");
}

export function fragment(locator) {
  if (locator.type === "time") return `t=${locator.start_ms}-${locator.end_ms}`;
  if (locator.type === "page") return `page=${locator.number}`;
  return `L${locator.line_start}-${locator.line_end}`;
}

export const isWeb = (href) => /^https?:\/\//i.test(href);

// Where a citation leads: out to the published place, or to the page that shows the source here.
export function target(href, sourceId, locator) {
  if (isWeb(href)) return { href, target: "_blank", rel: "noopener noreferrer external" };
  return { href: `/source/${encodeURIComponent(sourceId)}#${fragment(locator)}` };
}

export function facts(source, locator, lang = language()) {
  return [
    locator ? place(locator, lang, source.title) : "", phrase(lang, source.kind), source.lang === "und" ? "" : phrase(lang, source.lang),
    source.date || "", source.version ? shownVersion(source.version) : "",
  ].filter(Boolean).join(" · ");
}

export const shownVersion = (version) => `v${version.replace(/^v/, "")}`;

// Wrapped prose without its line breaks; as long as before, so that spans still fit.
export const reflowed = (text) => text.replace(/(?<=[^\n]{60})\n(?=[a-z(])/g, " ");

// Prose as Markdown means it: what is strong, and code. Everything else stays as it is written.
export const inline = (text) => text.split(/(\*\*(?=\S)[^*\n]*[^*\s]\*\*|`[^`\n]+`)/).map((piece) =>
  /^\*\*.+\*\*$/.test(piece) ? el("strong", { text: piece.slice(2, -2) })
    : /^`.+`$/.test(piece) ? el("code", { text: piece.slice(1, -1) }) : piece);

// `text` with the spans in `marks` (code points) as <mark>.
export function marked(text, marks) {
  const points = Array.from(reflowed(text));
  const pieces = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (start < at) continue;
    pieces.push(points.slice(at, start).join(""), el("mark", { text: points.slice(start, end).join("") }));
    at = end;
  }
  pieces.push(points.slice(at).join(""));
  return pieces;
}

const TITLES = {
  "not-found": "notFound", "bad-request": "badRequest", "library-busy": "busy", "index-mismatch": "rebuild", "storage-failed": "unreadable",
  "generation-failed": "modelFailed", truncated: "modelFailed", "broken-off": "modelFailed",
};

export function problemCard(error) {
  return el("div", { class: "card problem", role: "alert" },
    el("h2", { text: say(TITLES[error.kind] ?? "failed") }), el("p", { text: error.message }),
    error.remedy ? el("p", { class: "dim", text: error.remedy }) : null);
}
