"""What a PDF page shows or leads to besides its content: links, filled-in forms, text in notes on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import byref, c_int, c_ushort, create_string_buffer
from typing import TYPE_CHECKING

from kb.text import canonical

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_TICKED = "✓"


def links(document: PdfDocument, page: PdfPage, text_page: PdfTextPage) -> Iterator[tuple[str, str]]:
    """The words that each link covers, and its address."""
    from pypdfium2 import raw

    position, link = c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, byref(position), byref(link)):
        action = raw.FPDFLink_GetAction(link)
        if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
            continue
        length = raw.FPDFAction_GetURIPath(document, action, None, 0)
        address = create_string_buffer(length)
        raw.FPDFAction_GetURIPath(document, action, address, length)
        rectangle = raw.FS_RECTF()
        raw.FPDFLink_GetAnnotRect(link, byref(rectangle))
        box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        yield " ".join(canonical(text_page.get_text_bounded(*box)).split()), address.value.decode(errors="replace")


def filled_in(document: PdfDocument, page: PdfPage) -> list[str]:
    """A line for each field that is filled in, its name first, and for each text that was laid over the page."""
    from pypdfium2 import raw

    lines: list[str] = []
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if kind == raw.FPDF_ANNOT_FREETEXT:
            lines.append(_wide(lambda *room: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", *room)))  # noqa: B023
        elif kind == raw.FPDF_ANNOT_WIDGET and document.formenv:
            lines.append(_field(document.formenv, annotation))
        raw.FPDFPage_CloseAnnot(annotation)
    return [line for line in lines if line]


def _field(form: object, annotation: object) -> str:
    from pypdfium2 import raw

    name = _wide(lambda *room: raw.FPDFAnnot_GetFormFieldName(form, annotation, *room))
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        return f"{name}: {_TICKED}" if raw.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        value = _wide(lambda *room: raw.FPDFAnnot_GetFormFieldValue(form, annotation, *room))
        return f"{name}: {value}" if value else ""
    return ""


def _wide(call: Callable[..., int]) -> str:
    """What PDFium writes into a buffer of UTF-16 whose size it tells when asked without one."""
    size = call(None, 0)
    buffer = (c_ushort * (size // 2 + 1))()
    call(buffer, size)
    return canonical(bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", errors="replace")).strip()
