"""Office formulas (OMML) as one line of text: `softmax((QK^T)/(√(d_k)))V`."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree

_GROUPED = ("+", "-", "−", " ", "/", "=", ",", "_", "^")


def linear(element: etree._Element) -> str:
    """The text of an `m:oMath` or `m:oMathPara`, in the linear form that people type."""
    name = etree.QName(element).localname
    if name == "t":
        return element.text or ""
    if name in _FORMS:
        return _FORMS[name](element)
    return "".join(linear(child) for child in element if isinstance(child.tag, str) and not name.endswith("Pr"))


def _part(element: etree._Element, name: str) -> str:
    found = element.find(f"{{*}}{name}")
    return "" if found is None else linear(found)


def _grouped(text: str) -> str:
    return f"({text})" if len(text) > 1 and any(sign in text for sign in _GROUPED) else text


def _property(element: etree._Element, path: str, default: str) -> str:
    found = element.find(path)
    if found is None:
        return default
    return next((value for key, value in found.attrib.items() if str(key).endswith("val")), "")


def _scripts(element: etree._Element) -> str:
    below, above = _grouped(_part(element, "sub")), _grouped(_part(element, "sup"))
    return (f"_{below}" if below else "") + (f"^{above}" if above else "")


def _delimited(element: etree._Element) -> str:
    opening = _property(element, "{*}dPr/{*}begChr", "(")
    closing = _property(element, "{*}dPr/{*}endChr", ")")
    separator = _property(element, "{*}dPr/{*}sepChr", "|")
    return opening + separator.join(linear(part) for part in element.iterfind("{*}e")) + closing


def _root(element: etree._Element) -> str:
    degree = _part(element, "deg")
    return (f"{degree}" if degree else "") + f"√({_part(element, 'e')})"


def _matrix(element: etree._Element) -> str:
    rows = element.findall("{*}mr") or element.findall("{*}e")
    return "; ".join(", ".join(linear(cell) for cell in row.findall("{*}e")) or linear(row) for row in rows)


_FORMS: dict[str, Callable[[etree._Element], str]] = {
    "f": lambda e: f"{_fraction(_part(e, 'num'))}/{_fraction(_part(e, 'den'))}",
    "sSub": lambda e: _part(e, "e") + _scripts(e),
    "sSup": lambda e: _part(e, "e") + _scripts(e),
    "sSubSup": lambda e: _part(e, "e") + _scripts(e),
    "nary": lambda e: f"{_property(e, '{*}naryPr/{*}chr', '∫')}{_scripts(e)} {_part(e, 'e')}",
    "limLow": lambda e: f"{_part(e, 'e')}_{_grouped(_part(e, 'lim'))}",
    "limUpp": lambda e: f"{_part(e, 'e')}^{_grouped(_part(e, 'lim'))}",
    "func": lambda e: f"{_part(e, 'fName')} {_part(e, 'e')}",
    "d": _delimited,
    "rad": _root,
    "m": _matrix,
    "eqArr": _matrix,
}


def _fraction(text: str) -> str:
    return f"({text})" if len(text) > 1 else text
