"""PDF pages and pictures to segments: lines, tables, code, formulas, recognised text."""
