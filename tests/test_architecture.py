"""The rules of the house that no type checker holds."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("kb", "ingest", "index", "generate", "api", "eval")
HEAVY = (
    "torch",
    "sentence_transformers",
    "transformers",
    "llama_index",
    "unstructured",
    "faster_whisper",
    "qdrant_client",
    "sqlalchemy",
    "fastapi",
    "numpy",
    "pptx",
    "pypdfium2",
)


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_come_from_this_repository(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT)


def test_folders_depend_downwards_only() -> None:
    linted = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert linted.returncode == 0, linted.stdout


def test_eval_is_never_imported_as_a_module_name() -> None:
    wrong = [path for path in modules() if re.search(r"^\s*import eval\b", path.read_text("utf-8"), re.MULTILINE)]
    assert wrong == []


def test_dependencies_are_what_the_code_imports() -> None:
    """`pydantic_core` and `starlette` are the insides of pydantic and FastAPI, which pin them.

    An extra need not be installed: what carries none of its modules goes by the name of the module.
    """
    imported = {name.partition(".")[0] for path in modules() for name in _imports(path)}
    foreign = imported - set(PACKAGES) - set(sys.stdlib_module_names) - {"pydantic_core", "starlette"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = {_normal(line) for line in project["dependencies"]}
    optional = {
        _normal(line) for extra in ("weights", "ocr", "llm") for line in project["optional-dependencies"][extra]
    }
    carriers = packages_distributions()
    names = {module: {_normal(name) for name in carriers.get(module, [module])} for module in foreign}
    assert {module for module, found in names.items() if not found & (required | optional)} == set()
    assert required - set().union(*names.values()) == set()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _normal(requirement: str) -> str:
    """The name in a requirement, as package indexes spell it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def test_site_holds_no_python_package() -> None:
    assert list((ROOT / "site").rglob("*.py")) == []


def test_names_say_what_a_module_does() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [path for path in modules() if path.stem in vague] == []


def test_modules_have_one_reason_to_exist() -> None:
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in modules() if path.name != "__init__.py"}
    ordered = sorted(sizes.values())
    assert ordered[len(ordered) // 2] <= 150
    allowed = {ROOT / "kb" / "types.py"}  # every noun in one place
    assert {path.name: size for path, size in sizes.items() if size > 250 and path not in allowed} == {}


def test_functions_fit_a_screen() -> None:
    long = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno
                if length > 60:
                    long.append(f"{path.name}:{node.name} {length}")
    assert long == []


def test_nothing_reads_settings_or_the_environment_at_import() -> None:
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            source = ast.unparse(node)
            at_import = isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr)
            assert not (at_import and ("Settings()" in source or "os.environ" in source)), f"{path}: {source}"


def test_start_up_is_light() -> None:
    code = "import sys, api.cli; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(HEAVY) & set(loaded.split()) == set()


def test_no_tracked_file_names_this_machine_or_holds_a_key() -> None:
    machine = re.compile(rb"/work/(?:main|shared)|/root/|/opt/(?:wheels|pypi)|\bsk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}")
    text = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".sh", ".js", ".css", ".html", ".j2", ".json", ".jsonl"}
    found = [
        path.relative_to(ROOT)
        for path in tracked()
        if path.suffix in text and path != Path(__file__) and path.is_file() and machine.search(path.read_bytes())
    ]
    assert found == []
