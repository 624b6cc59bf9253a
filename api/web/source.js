// One source: its segments with their places; the cited one is marked and scrolled to.

import { bilingual, say } from "./text.js";
import { call, el, facts, isWeb, pageImage, place, problemCard } from "./library.js";

const $ = (id) => document.getElementById(id);
const sourceId = decodeURIComponent(location.pathname.split("/")[2] || "");
let shown = null;
let screens = new Map(); // what was on the screen, by the order of the segment

// Whether the address names this place: a stretch of time, a page, or lines.
function isCited(locator) {
  const hash = location.hash.slice(1);
  const span = (pattern) => { const found = pattern.exec(hash); return found ? [Number(found[1]), Number(found[2] ?? found[1])] : null; };
  if (locator.type === "time") { const s = span(/^t=(\d+)-(\d+)$/); return Boolean(s) && locator.start_ms < s[1] && locator.end_ms > s[0]; }
  if (locator.type === "page") { const s = span(/^page=(\d+)$/); return Boolean(s) && locator.number === s[0]; }
  const s = span(/^L(\d+)(?:-(\d+))?$/);
  return Boolean(s) && locator.line_start <= s[1] && locator.line_end >= s[0];
}

function draw() {
  if (!shown) return;
  const { source, segments, dropped, pages } = shown;
  document.title = `${source.title} – vLLM Notes KB`;
  $("head").replaceChildren(
    el("h1", { text: source.title }),
    el("p", { class: "facts", text: [facts(source), say("segments", segments.length), source.licence].filter(Boolean).join(" · ") }),
    isWeb(source.url || "") ? el("p", {}, el("a", { href: source.url, target: "_blank", rel: "noopener noreferrer external", text: say("original") })) : "");
  const groups = [];
  let group = null;
  for (const segment of segments) {
    const key = segment.locator.type === "page" ? `p${segment.locator.number}` : segment.locator.type === "mark" ? segment.locator.heading_path.join("\n") : screenKey(screens.get(segment.order));
    if (!group || group.key !== key) groups.push(group = { key, locator: segment.locator, screen: screens.get(segment.order), segments: [] });
    group.segments.push(segment);
  }
  $("segments").replaceChildren(...groups.map((g) => drawGroup(g, source, pages)));
  const details = $("dropped");
  details.hidden = !dropped.length;
  details.querySelector("summary").textContent = say("left", dropped.length);
  details.querySelector("ul").replaceChildren(...dropped.map((d) => el("li", { text: `${d.where}: ${d.what}: ${d.reason}` })));
  cite();
}

const screenKey = (screen) => (screen ? `${screen.source_id} ${screen.page}` : "");

// Speech, beside the slide that was on the screen.
function drawScreen(screen, segments) {
  const title = [say("slide", screen.page), screen.title].filter(Boolean).join(" · ");
  return el("section", { class: "group screened" },
    el("aside", {}, screen.thumbnail ? pageImage(screen.thumbnail, title) : null, el("a", { href: `/source/${encodeURIComponent(screen.source_id)}#page=${screen.page}`, text: title })),
    el("div", {}, ...segments.map(drawSegment)));
}

function drawGroup(group, source, pages) {
  const { locator, segments } = group;
  if (group.screen) return drawScreen(group.screen, segments);
  const heading = locator.type === "page" ? say("slide", locator.number) + (locator.label ? ` (${locator.label})` : "")
    : locator.type === "mark" ? locator.heading_path.join(" › ") : "";
  const image = locator.type === "page" && pages ? pageImage(`/v1/sources/${encodeURIComponent(source.id)}/pages/${locator.number}.webp`, say("slide", locator.number)) : null;
  return el("section", { class: locator.type === "page" ? "group paged" : "group" }, heading ? el("h2", { text: heading }) : null, image, ...segments.map(drawSegment));
}

function drawSegment(segment) {
  const locator = segment.locator;
  const label = locator.type === "page" ? "" : locator.type === "time" ? place(locator).split("–")[0]
    : `${locator.line_start}`;
  const notes = [say(segment.role), ...[...segment.flags].map((flag) => say(flag))].filter(Boolean).join(" · ");
  const verbatim = ["code", "table", "math"].includes(segment.role);
  return el("div", { class: `segment ${segment.role}`, "data-order": segment.order },
    el("span", { class: "where", text: label, title: place(locator) }),
    el("div", {}, notes ? el("span", { class: "badge", text: notes }) : null,
      el(verbatim ? "pre" : "p", { lang: segment.lang === "und" ? null : segment.lang, text: plain(segment) })));
}

// What Markdown marks up a heading or code with is not said again.
function plain({ role, text }) {
  if (role === "title") return text.replace(/^#{1,6} +/, "");
  return role === "code" ? text.replace(/^\s*(`{3,}|~{3,})[^\n]*\n([^]*?)\n?\s*\1\s*$/, "$2") : text;
}

function cite() {
  let first = null;
  for (const segment of shown.segments) {
    const node = document.querySelector(`[data-order="${segment.order}"]`);
    const cited = isCited(segment.locator);
    node.classList.toggle("cited", cited);
    if (cited) { node.setAttribute("aria-label", say("cited")); node.setAttribute("role", "region"); node.tabIndex = -1; first ??= node; }
  }
  if (!first) return;
  const page = first.closest(".paged"); // a page is shown from its picture on
  (page ?? first).scrollIntoView({ block: page ? "start" : "center" });
  first.focus({ preventScroll: true });
}

$("back").addEventListener("click", (event) => { if (history.length > 1 && document.referrer.startsWith(location.origin)) { event.preventDefault(); history.back(); } });
addEventListener("hashchange", cite);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("back").click();
  if (event.key === "/") { event.preventDefault(); location.assign("/"); }
});

// A transcript of a talk gets the slides that were shown while it was spoken; without any, it stays as it is.
async function drawScreens() {
  const { source, segments } = shown;
  if (!source.talk || !segments.some((segment) => segment.locator.type === "time")) return;
  const asked = source.lang === "und" ? "" : `?lang=${source.lang}`;
  const transcript = await call(`/v1/talks/${encodeURIComponent(source.talk)}/transcript${asked}`).catch(() => null);
  if (transcript?.source.id !== source.id) return;
  screens = new Map(transcript.lines.filter((line) => line.screen).map((line) => [line.order, line.screen]));
  if (screens.size) draw();
}

bilingual(draw);
call(`/v1/sources/${encodeURIComponent(sourceId)}`).then((data) => { shown = data; draw(); return drawScreens(); },
  (error) => $("segments").replaceChildren(problemCard(error)));
