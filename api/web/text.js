// The two languages of the page, remembered across visits.

const TEXTS = {
  en: {
    switchTo: "中文", skip: "Skip to results", tagline: "Ask your talks and notes",
    question: "Question or words", placeholder: "A question, a flag, a term – in English or Chinese",
    search: "Search", ask: "Ask", filters: "Filters", kind: "Kind", language: "Language", talk: "Talk", version: "Version",
    clear: "Clear filters", anyLang: "Any language", anyTalk: "Any talk", anyVersion: "Any version",
    zh: "Chinese", en: "English", und: "–",
    recording: "Recordings", captions: "Captions", deck: "Decks", note: "Notes",
    recordingOne: "Recording", captionsOne: "Captions", deckOne: "Deck", noteOne: "Note",
    keys: "/ to type · Enter to search · Ctrl Enter to ask · ↑ ↓ to move · Esc to leave",
    working: "Searching…", thinking: "Looking for evidence…",
    found: (n, ms) => `${n} ${n === 1 ? "passage" : "passages"} in ${ms} ms`, none: "Nothing found. Try other words, or fewer filters.",
    answered: (n) => `Answer with ${n} ${n === 1 ? "citation" : "citations"}`,
    answer: "Answer", refused: "No answer", nearest: "The nearest evidence", citations: "Citations",
    extractive: "Quoted word for word from the sources", generated: "Written by a language model, checked against the sources",
    writing: "Being written: every sentence shown is checked", asOf: (v) => `as of v${v.replaceAll(", ", ", v")}`,
    dropped: (n) => `${n} ${n === 1 ? "sentence" : "sentences"} left out for want of support`, gloss: "Translation by the model:",
    heard: (text) => `Corrected; heard: ${text}`, corrected: "corrected",
    page: (n) => `page ${n}`, line: (n) => `line ${n}`, lines: (a, b) => `lines ${a}–${b}`,
    slide: (n) => `Page ${n}`, more: (n) => `+ ${n} with the same words`, around: "Show around",
    back: "← Back to search", original: "Open where it is published", left: (n) => `Left out while reading: ${n}`,
    segments: (n) => `${n} ${n === 1 ? "segment" : "segments"}`, cited: "Cited passage",
    library: (n) => `${n} ${n === 1 ? "source" : "sources"} in the library`, talks: "Talks",
    empty: "The library is empty. Add files with: kb add FOLDER",
    good: "Good answer", bad: "Bad answer", thanks: "Thank you",
    failed: "That did not work", offline: "The service does not answer. Is kb serve still running?",
    keyTitle: "A key is needed", keyText: "This service is guarded. Its owner knows the key.", keyLabel: "Key", keyUse: "Use key",
    hidden: "hidden slide", no_text: "no text", unread_graphic: "unread graphic", low_confidence: "unsure", translation: "translation", ocr: "read from pixels",
    speech: "", title: "", body: "", table: "table", code: "code", math: "formula", notes: "speaker notes",
  },
  zh: {
    switchTo: "English", skip: "跳到结果", tagline: "向演讲与笔记提问",
    question: "问题或词语", placeholder: "输入问题、参数或术语，中英文均可",
    search: "搜索", ask: "提问", filters: "筛选", kind: "类型", language: "语言", talk: "演讲", version: "版本",
    clear: "清除筛选", anyLang: "全部语言", anyTalk: "全部演讲", anyVersion: "全部版本",
    zh: "中文", en: "英文", und: "–",
    recording: "录音录像", captions: "字幕", deck: "幻灯片", note: "笔记",
    recordingOne: "录音录像", captionsOne: "字幕", deckOne: "幻灯片", noteOne: "笔记",
    keys: "/ 输入 · Enter 搜索 · Ctrl Enter 提问 · ↑ ↓ 移动 · Esc 离开",
    working: "正在搜索…", thinking: "正在查找依据…",
    found: (n, ms) => `找到 ${n} 段，用时 ${ms} 毫秒`, none: "没有找到。请换一种说法，或减少筛选条件。",
    answered: (n) => `回答附 ${n} 条引用`,
    answer: "回答", refused: "无法回答", nearest: "最接近的依据", citations: "引用",
    extractive: "逐字摘自原文", generated: "由语言模型撰写，并与原文核对",
    writing: "正在撰写：已显示的句子均已核对", asOf: (v) => `依据版本 v${v.replaceAll(", ", "、v")}`,
    dropped: (n) => `${n} 句因缺乏依据而略去`, gloss: "模型翻译：",
    heard: (text) => `已更正；识别为：${text}`, corrected: "已更正",
    page: (n) => `第 ${n} 页`, line: (n) => `第 ${n} 行`, lines: (a, b) => `第 ${a}–${b} 行`,
    slide: (n) => `第 ${n} 页`, more: (n) => `另有 ${n} 处内容相同`, around: "上下文",
    back: "← 返回搜索", original: "打开发布页面", left: (n) => `读取时略去 ${n} 处`,
    segments: (n) => `${n} 段`, cited: "引用的段落",
    library: (n) => `资料库共有 ${n} 个来源`, talks: "演讲",
    empty: "资料库是空的。请运行：kb add 文件夹",
    good: "回答有用", bad: "回答不好", thanks: "谢谢反馈",
    failed: "操作未成功", offline: "服务没有响应。kb serve 还在运行吗？",
    keyTitle: "需要密钥", keyText: "此服务受保护，请向管理者索取密钥。", keyLabel: "密钥", keyUse: "使用密钥",
    hidden: "隐藏页", no_text: "无文字", unread_graphic: "图形未读", low_confidence: "不确定", translation: "译文", ocr: "识别自图像",
    speech: "", title: "", body: "", table: "表格", code: "代码", math: "公式", notes: "演讲者备注",
  },
};

let current = localStorage.getItem("lang") || (navigator.language.startsWith("zh") ? "zh" : "en");
if (!TEXTS[current]) current = "en";

export const say = (key, ...values) => {
  const text = TEXTS[current][key];
  return typeof text === "function" ? text(...values) : text ?? key;
};

function apply() {
  document.documentElement.lang = current === "zh" ? "zh-Hans" : "en";
  for (const node of document.querySelectorAll("[data-i18n]")) node.textContent = say(node.dataset.i18n);
  for (const node of document.querySelectorAll("[data-i18n-label]")) node.setAttribute("aria-label", say(node.dataset.i18nLabel));
  const button = document.getElementById("language");
  button.textContent = say("switchTo");
  button.lang = current === "zh" ? "en" : "zh-Hans";
}

// Put the language on the page now and at every switch; `redraw` renders what scripts made.
export function bilingual(redraw) {
  document.getElementById("language").addEventListener("click", () => {
    current = current === "zh" ? "en" : "zh";
    localStorage.setItem("lang", current);
    apply();
    redraw();
  });
  apply();
  redraw();
}
