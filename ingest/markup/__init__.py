"""Notes to segments with headings and lines: Markdown, reStructuredText, HTML, notebooks, translations."""
