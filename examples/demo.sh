#!/bin/sh
# The main job, on the sample talks: add, ask in both languages, draft an article, publish it, build the site.
# Everything is made below build/demo; the project's own files stay as they are.
set -eu
cd "$(dirname "$0")/.."
demo=build/demo
export KB_HOME=$demo/library KB_SITE_DIR=$demo/site NO_MKDOCS_2_WARNING=1
talk=一块显卡能装下多少对话

say() { printf '\n== %s\n\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

rm -rf "$demo" && mkdir -p "$demo"

say 'Two talks (speech, deck) and eight notes become a library'
run kb add examples/talks examples/notes
run kb ls

say 'Questions in both languages; every statement is quoted and linked'
run kb ask '每个词元的 KV 缓存占多少显存？'
run kb ask 'How many steps does a prompt of 8,192 tokens take with chunked prefill?'
run kb ask '前缀缓存把 32 个请求的显存从多少降到多少？'

say 'No evidence, no answer'
status=0
run kb ask 'What did the team have for lunch last Friday?' || status=$?
[ "$status" -eq 3 ] || { echo "expected the exit code 3 of a refusal, got $status" >&2; exit 1; }

say 'A talk becomes a draft with facts, quotes, figures and footnotes'
run kb write "$talk"

say 'The draft and the curated posts become a site'
cp -R site deploy "$demo/"
run kb publish --reviewed "$talk"
run mkdocs build --quiet --strict --config-file "$demo/site/mkdocs.yml"
run mkdocs build --quiet --strict --config-file "$demo/site/mkdocs.en.yml"

say 'Done'
echo "The library:     $demo/library   (kb --home $demo/library ask '…')"
echo "The draft:       $demo/library/articles/$talk/index.zh.md"
echo "The site:        $demo/build/site/index.html"
echo "The web page:    kb --home $demo/library serve, then http://127.0.0.1:8765"
