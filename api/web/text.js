// The two languages of the page, remembered across visits. What stands around an answer follows its question instead.

import ANSWER from "./answer.json" with { type: "json" };

const TEXTS = {
  en: {
    switchTo: "中文", skip: "Skip to results", tagline: "Ask your talks and notes",
    question: "Question or words", placeholder: "A question, a flag, a term – in English or Chinese",
    search: "Search", ask: "Ask", filters: "Filters", kind: "Kind", language: "Language", talk: "Talk", version: "Version",
    clear: "Clear filters", anyLang: "Any language", anyTalk: "Any talk", anyVersion: "Any version",
    und: "–",
    recording: "Recordings", captions: "Captions", deck: "Decks", note: "Notes",
    keys: "/ to type · Enter to search · Ctrl Enter to ask · ↑ ↓ to move · Esc to leave",
    working: "Searching…", thinking: "Looking for evidence…",
    found: (n, ms) => `${n} ${n === 1 ? "passage" : "passages"} in ${ms} ms`, none: "Nothing found. Try other words, or fewer filters.",
    answered: (n) => `Answer with ${n} ${n === 1 ? "citation" : "citations"}`,
    corrected: "corrected",
    slide: (n) => `Page ${n}`, more: (n) => `+ ${n} with the same words`, around: "Show around",
    back: "← Back to search", original: "Open where it is published", left: (n) => `Left out while reading: ${n}`,
    segments: (n) => `${n} ${n === 1 ? "segment" : "segments"}`, cited: "Cited passage",
    library: (n) => `${n} ${n === 1 ? "source" : "sources"} in the library`, talks: "Talks",
    empty: "The library is empty. Add files with: kb add FOLDER",
    followUp: "Ask on from here", good: "Good answer", bad: "Bad answer", thanks: "Thank you",
    notFound: "There is no such thing here", badRequest: "This cannot be asked for", busy: "The service is busy",
    modelFailed: "The language model failed", rebuild: "The library must be rebuilt", unreadable: "The library cannot be read",
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
    und: "–",
    recording: "录音录像", captions: "字幕", deck: "幻灯片", note: "笔记",
    keys: "/ 输入 · Enter 搜索 · Ctrl Enter 提问 · ↑ ↓ 移动 · Esc 离开",
    working: "正在搜索…", thinking: "正在查找依据…",
    found: (n, ms) => `找到 ${n} 段，用时 ${ms} 毫秒`, none: "没有找到。请换一种说法，或减少筛选条件。",
    answered: (n) => `回答附 ${n} 条引用`,
    corrected: "已更正",
    slide: (n) => `第 ${n} 页`, more: (n) => `另有 ${n} 处内容相同`, around: "上下文",
    back: "← 返回搜索", original: "打开发布页面", left: (n) => `读取时略去 ${n} 处`,
    segments: (n) => `${n} 段`, cited: "引用的段落",
    library: (n) => `资料库共有 ${n} 个来源`, talks: "演讲",
    empty: "资料库是空的。请运行：kb add 文件夹",
    followUp: "接着问", good: "回答有用", bad: "回答不好", thanks: "谢谢反馈",
    notFound: "这里没有您要找的内容", badRequest: "无法处理这个请求", busy: "服务正忙，请稍后再试",
    modelFailed: "语言模型出错了", rebuild: "资料库需要重建", unreadable: "资料库无法读取",
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

// Of the page, as it is shown now.
export const language = () => current;

// The words around an answer, in the language of its question.
export const phrase = (lang, key, values = {}) =>
  ANSWER[lang === "zh" ? "zh" : "en"][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

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
