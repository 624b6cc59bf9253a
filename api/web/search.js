// The search page: one box, two verbs, filters; its whole state stands in the address.

import { bilingual, language, phrase, say } from "./text.js";
import { call, el, events, facts, inline, isWeb, marked, pageImage, Problem, problemCard, reflowed, shownVersion, target } from "./library.js";

const $ = (id) => document.getElementById(id);
const KINDS = ["note", "deck", "captions", "recording"];
let shown = null; // { mode, data, ms } or { error }
let library = null;
let running = null;
let turns = []; // of the conversation: questions as they stand alone, with their answers; the latest last
const MOST_TURNS = 8;

// --- state in the address ---

const state = () => {
  const params = new URLSearchParams(location.search);
  return {
    q: params.get("q") || "", mode: params.get("mode") === "ask" ? "ask" : "search",
    kinds: params.getAll("kind").filter((kind) => KINDS.includes(kind)),
    lang: params.get("lang") || "", talk: params.get("talk") || "", version: params.get("version") || "",
  };
};

function fromForm(mode) {
  const params = new URLSearchParams();
  if ($("question").value.trim()) params.set("q", $("question").value.trim());
  if (mode === "ask") params.set("mode", "ask");
  for (const box of $("kinds").querySelectorAll("input:checked")) params.append("kind", box.value);
  for (const name of ["lang", "talk", "version"]) if ($(name).value) params.set(name, $(name).value);
  return params;
}

function go(mode) {
  const address = `?${fromForm(mode)}`;
  if (address === location.search || (address === "?" && !location.search)) run();
  else { history.pushState(null, "", address === "?" ? "/" : address); run(); }
}

const filters = (s) => ({
  kinds: s.kinds, langs: s.lang ? [s.lang] : [], talks: s.talk ? [s.talk] : [], versions: s.version ? [s.version] : [],
});

// --- asking ---

// A question that follows on another brings the turns before it; any other begins anew.
async function run(before = []) {
  const s = state();
  turns = before;
  $("question").value = s.q;
  drawFilters();
  running?.abort();
  document.title = s.q ? `${s.q} – vLLM Notes KB` : "vLLM Notes KB";
  if (!s.q) { shown = null; draw(); return; }
  const mine = running = new AbortController();
  $("status").textContent = say(s.mode === "ask" ? "thinking" : "working");
  document.body.setAttribute("aria-busy", "true");
  const started = performance.now();
  try {
    const data = s.mode === "ask"
      ? await answer({ question: s.q, filters: filters(s), history: before }, mine)
      : await call("/v1/search", { text: s.q, filters: filters(s), limit: 10, context: 3 }, mine.signal);
    shown = { mode: s.mode, data, ms: Math.round(performance.now() - started) };
    if (s.mode === "ask" && mine === running && !data.refused) turns = [...before, { question: data.asked_as || data.question, answer: data.text }].slice(-MOST_TURNS);
  } catch (error) {
    if (error.name === "AbortError") return;
    shown = { error };
  }
  if (mine === running) { document.body.removeAttribute("aria-busy"); draw(); }
}

// The whole answer. Until it is there, every verified sentence is shown as soon as it comes.
async function answer(body, mine) {
  const partial = { text: "", citations: [], lang: /\p{Script=Han}/u.test(body.question) ? "zh" : "en" };
  for await (const event of events("/v1/ask", body, mine.signal)) {
    if (event.event === "done") return event.answer;
    if (event.event === "citation") {
      partial.citations = [...partial.citations.filter((c) => c.n !== event.citation.n), event.citation];
    } else if (event.event === "sentence") {
      partial.text += event.text;
      if (mine === running) { shown = { mode: "ask", data: partial, partial: true }; draw(); }
    }
  }
  throw new Problem({ detail: say("offline") });
}

// --- drawing ---

function drawFilters() {
  const s = state();
  const options = (select, any, pairs, value) => {
    const known = !value || pairs.some(([v]) => v === value) ? pairs : [...pairs, [value, value]]; // the address may name any
    select.replaceChildren(el("option", { value: "", text: any }), ...known.map(([v, t]) => el("option", { value: v, text: t })));
    select.value = value;
    select.closest("label").hidden = known.length < 2 && !value;
  };
  const kinds = KINDS.filter((kind) => !library || library.kinds.includes(kind) || s.kinds.includes(kind));
  $("kinds").replaceChildren($("kinds").querySelector("legend"), ...kinds.map((kind) => el("label", { class: "chip" },
    el("input", { type: "checkbox", value: kind, checked: s.kinds.includes(kind), onchange: refilter }), el("span", { text: say(kind) }))));
  options($("lang"), say("anyLang"), ["zh", "en"].map((lang) => [lang, phrase(language(), lang)]), s.lang);
  options($("talk"), say("anyTalk"), (library?.talks || []).map((talk) => [talk.id, talk.title]), s.talk);
  options($("version"), say("anyVersion"), (library?.versions || []).map((v) => [v, shownVersion(v)]), s.version);
  $("clear").hidden = !(s.kinds.length || s.lang || s.talk || s.version);
}

function draw() {
  $("question").placeholder = say("placeholder");
  drawFilters();
  hideQuote();
  const [answer, results, status] = [$("answer"), $("results"), $("status")];
  answer.replaceChildren();
  results.replaceChildren();
  answer.hidden = !shown;
  document.body.classList.toggle("fresh", !shown);
  drawWelcome();
  status.textContent = "";
  if (!shown) return;
  if (shown.error) return answer.replaceChildren(problemCard(shown.error));
  if (shown.mode === "ask") return drawAnswer(shown.data);
  answer.hidden = true;
  status.textContent = shown.data.length ? say("found", shown.data.length, shown.ms) : say("none");
  results.replaceChildren(...shown.data.map(hitCard));
}

function drawWelcome() {
  const welcome = $("welcome");
  welcome.hidden = Boolean(shown) || !library;
  if (welcome.hidden) return;
  const line = el("p", { class: "dim", text: library.sources ? say("library", library.sources) : say("empty") });
  const talks = library.talks.map((talk) => el("li", {}, el("a", { href: `/?q=${encodeURIComponent(talk.title)}&talk=${encodeURIComponent(talk.id)}`, text: talk.title }),
    el("span", { class: "dim", text: [talk.date, ...talk.speakers].filter(Boolean).join(" · ") })));
  welcome.replaceChildren(line, ...(talks.length ? [el("h2", { text: say("talks") }), el("ul", {}, ...talks)] : []));
}

function hitCard(hit) {
  return card({ ...hit, sourceId: hit.source.id, title: hit.source.title, source: hit.source, body: marked(hit.quote, hit.marks) },
    el("div", {}, around(hit), hit.twins.length ? el("p", { class: "dim", text: say("more", hit.twins.length) }) : null));
}

// What stands around the quote, folded up: the table's header, the sentences before, the quote, the sentences after.
function around(hit) {
  const { header, before, after } = hit.around || {};
  if (!header && !before && !after) return null;
  const lang = hit.source.lang === "und" ? null : hit.source.lang;
  return el("details", { class: "around", lang }, el("summary", { text: say("around") }),
    ...[header, before].filter(Boolean).map((text) => el("p", { text })),
    el("p", { class: "quoted", text: hit.quote }), after ? el("p", { text: after }) : null);
}

const citationCard = (c, lang) => card({ ...c, sourceId: c.source_id, source: c, body: inline(reflowed(c.quote)), n: c.n },
  c.gloss ? el("p", { class: "gloss", text: phrase(lang, "gloss", { text: c.gloss }) }) : null, lang);

function card(item, after = null, lang = language()) {
  const link = target(item.href, item.sourceId, item.locator);
  const page = item.locator.number ?? (item.screen ?? item.screens?.find((one) => one.thumbnail === item.thumbnail))?.page; // or what was on the screen
  const image = item.thumbnail?.startsWith("/v1/") ? pageImage(item.thumbnail, say("slide", page)) : null;
  return el("li", { class: `card hit${image ? " pictured" : ""}`, id: item.n ? `citation-${item.n}` : null },
    el("div", {},
      el("h3", {}, item.n ? el("span", { class: "number", text: item.n }) : null, el("a", { ...link, class: "open", text: item.title })),
      el("p", { class: "facts", text: facts(item.source, item.locator, lang) }),
      el("blockquote", { lang: item.source.lang === "und" ? null : item.source.lang }, ...item.body),
      item.heard ? el("p", { class: "dim heard", text: phrase(lang, "heard", { text: item.heard }) }) : null,
      isWeb(item.href) ? el("p", { class: "address", text: decode(item.href) }) : null, after),
    image ? el("a", { ...link, tabindex: "-1", "aria-hidden": "true" }, image) : null);
}

function decode(href) {
  try { return decodeURI(href); } catch { return href; }
}

function drawAnswer(answer) {
  const { lang } = answer;
  const citations = answer.refused ? answer.refused.nearest : answer.citations;
  const box = el("div", { class: `card answer${answer.refused ? " refused" : ""}` },
    el("h2", { text: phrase(lang, answer.refused ? "refused" : "answer") }));
  if (answer.refused) box.append(el("p", { text: answer.refused.reason }));
  else {
    box.append(...answerText(answer));
    const versions = answer.as_of?.split(", ").map(shownVersion).join(phrase(lang, "joint"));
    const remarks = [answer.asked_as ? phrase(lang, "asked_as", { question: answer.asked_as }) : "",
      phrase(lang, answer.mode || "writing"), versions ? phrase(lang, "as_of", { versions }) : "",
      answer.dropped?.length ? phrase(lang, "unsupported", { count: answer.dropped.length }) : ""];
    box.append(el("p", { class: "dim", text: remarks.filter(Boolean).join(" · ") }));
  }
  if (answer.mode && !answer.refused) box.append(rating(answer));
  $("answer").lang = lang === "zh" ? "zh-Hans" : "en";
  const list = el("ol", { class: "results" }, ...citations.map((c) => citationCard(c, lang)));
  $("answer").replaceChildren(box, ...(answer.mode && turns.length ? [followUp()] : []), ...(citations.length ? [el("h2", { class: "section", text: phrase(lang, answer.refused ? "nearest" : "citations") }), list] : []));
  $("status").textContent = answer.refused || !answer.mode ? "" : say("answered", citations.length);
}

// The next question of the conversation. In the address it stands without the turns before it.
function followUp() {
  const next = el("input", { type: "text", maxlength: "2000", placeholder: say("followUp"), "aria-label": say("followUp"), autocomplete: "off" });
  return el("form", {
    class: "box follow",
    onsubmit: (event) => {
      event.preventDefault();
      if (!next.value.trim()) return;
      $("question").value = next.value;
      history.pushState(null, "", `?${fromForm("ask")}`);
      run(turns);
    },
  }, next, el("button", { type: "submit", class: "secondary", text: say("ask"), "aria-label": say("followUp") }));
}

// Two buttons; the one that was pressed stays pressed, and a bad rating files the question as a gap.
function rating(answer) {
  const told = el("span", { class: "dim", role: "status" });
  const rate = (good) => el("button", {
    type: "button", class: "quiet rate", text: say(good ? "good" : "bad"), "aria-pressed": "false",
    onclick: async (event) => {
      const pressed = event.currentTarget;
      try {
        await call("/v1/feedback", { question: answer.asked_as || answer.question, good, recipe: answer.recipe });
        for (const one of pressed.parentElement.querySelectorAll(".rate")) one.setAttribute("aria-pressed", String(one === pressed));
        told.textContent = say("thanks");
      } catch { told.textContent = say("failed"); }
    },
  });
  return el("p", { class: "rating" }, rate(true), rate(false), told);
}

// Paragraphs whose markers [n] become buttons that show the quote; a number without a citation stays text. Those that
// begin with `> ` are quotes.
function answerText(answer) {
  const byNumber = new Map(answer.citations.map((c) => [String(c.n), c]));
  return answer.text.split(/\n{2,}/).map((paragraph) => el(paragraph.startsWith("> ") ? "blockquote" : "p", { class: "prose", lang: answer.lang === "und" ? null : answer.lang },
    ...paragraph.replace(/^> /, "").split(/(\[\d+\])/).map((piece) => {
      const citation = /^\[\d+\]$/.test(piece) ? byNumber.get(piece.slice(1, -1)) : null;
      return citation ? [marker(citation, answer.lang)] : inline(piece);
    }).flat()));
}

function marker(citation, lang) {
  const show = (event) => showQuote(event.currentTarget, citation, lang);
  return el("button", {
    type: "button", class: "marker", text: citation.n, "aria-describedby": "quote", "aria-label": `${phrase(lang, "citations")} ${citation.n}`,
    onmouseenter: show, onfocus: show, onmouseleave: hideQuote, onblur: hideQuote,
    onclick: () => { const item = $(`citation-${citation.n}`); item.scrollIntoView({ block: "center" }); item.querySelector(".open").focus(); },
  });
}

function showQuote(anchor, citation, lang) {
  const quote = $("quote");
  quote.replaceChildren(el("strong", { text: citation.title }), el("span", { class: "facts", text: facts(citation, citation.locator, lang) }), el("q", { text: reflowed(citation.quote) }),
    citation.heard ? el("span", { class: "dim heard", text: phrase(lang, "heard", { text: citation.heard }) }) : "");
  quote.hidden = false;
  const at = anchor.getBoundingClientRect();
  const left = Math.max(12, Math.min(at.left - 24, innerWidth - quote.offsetWidth - 12));
  const below = at.bottom + 8; // the sentence that is cited stands above
  quote.style.left = `${left}px`;
  quote.style.top = `${below + quote.offsetHeight < innerHeight - 12 ? below : at.top - quote.offsetHeight - 8}px`;
}

function hideQuote() { $("quote").hidden = true; }

// --- listening ---

function refilter() { go(state().mode); }

$("form").addEventListener("submit", (event) => { event.preventDefault(); go(event.submitter?.value || "search"); });
$("question").addEventListener("keydown", (event) => {
  if (event.isComposing || event.key !== "Enter") return; // Enter that ends a Chinese input is no order
  event.preventDefault();
  go(event.ctrlKey || event.metaKey ? "ask" : "search");
});
for (const name of ["lang", "talk", "version"]) $(name).addEventListener("change", refilter);
$("clear").addEventListener("click", () => {
  for (const box of $("kinds").querySelectorAll("input")) box.checked = false;
  for (const name of ["lang", "talk", "version"]) $(name).value = "";
  refilter();
});
addEventListener("popstate", () => run());
addEventListener("scroll", hideQuote, { passive: true });

document.addEventListener("keydown", (event) => {
  const links = [...document.querySelectorAll("a.open")];
  const at = links.indexOf(document.activeElement);
  const inField = document.activeElement.matches("input, select, textarea");
  if (event.key === "/" && !inField) { event.preventDefault(); $("question").focus(); $("question").select(); }
  else if (event.key === "Escape") { hideQuote(); document.activeElement.blur(); }
  else if (event.key === "ArrowDown" && links.length && (at >= 0 || document.activeElement === $("question") || document.activeElement === document.body)) {
    event.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus();
  } else if (event.key === "ArrowUp" && at >= 0) {
    event.preventDefault(); (at ? links[at - 1] : $("question")).focus();
  }
});

bilingual(() => draw());
$("question").focus();
run();
call("/v1/facets").then((data) => { library = data; drawFilters(); drawWelcome(); }, () => {});
