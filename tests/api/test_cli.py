"""The command as people meet it: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from api import cli, options
from api import service as services
from api.problems import EXIT_CODES, NOT_FOUND
from kb.settings import Settings
from kb.types import Answer, Kind
from tests.api.conftest import open_fake, write_notes

ROOT = Path(__file__).resolve().parents[2]


class Run(NamedTuple):
    code: int
    out: str
    err: str


Kb = Callable[..., Run]


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Kb:
    """Runs `kb` in this process, with stand-ins for the models."""

    def open_service(settings: Settings) -> services.Service:
        return open_fake(settings)

    monkeypatch.setattr(services, "open_service", open_service)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, home: str = "library") -> Run:
        monkeypatch.setattr(sys, "argv", ["kb", "--home", home, *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return Run(int(left.value.code or 0), out, err)

    return run


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that tests read and leave as it is, beside its notes."""
    folder = tmp_path_factory.mktemp("read")
    with open_fake(Settings(home=folder / "library")) as service:
        assert len(list(service.add([write_notes(folder / "notes")]))) == 3
    return folder


@pytest.fixture
def filled_home(kb: Kb, library: Path, monkeypatch: pytest.MonkeyPatch) -> Kb:
    monkeypatch.chdir(library)
    return kb


def test_add_tells_each_file_once(kb: Kb, notes: Path) -> None:
    first = kb("add", str(notes))
    assert first.code == 0
    assert re.search(r"^added +notes/paging\.md +\d+ segments, \d+ chunks$", first.out, re.MULTILINE)
    assert "3 added" in first.err
    second = kb("add", str(notes))
    assert (second.code, second.out) == (0, "")
    assert "3 unchanged" in second.err


def test_a_half_failing_batch_says_so_in_its_exit_code(kb: Kb, notes: Path) -> None:
    (notes / "empty.md").write_bytes(b"")
    told = kb("add", str(notes))
    assert told.code == 1
    assert "failed    notes/empty.md" in told.out
    assert "3 added, 1 failed" in told.err.replace("1 failed, 3 added", "3 added, 1 failed")
    assert "Traceback" not in told.err


def test_a_missing_path_is_a_failed_file(kb: Kb, notes: Path) -> None:
    told = kb("add", "nowhere.md", str(notes))
    assert told.code == 1
    assert "nowhere.md" in told.out
    assert "3 added" in told.err


@pytest.mark.parametrize("command", [("add", "nowhere.md"), ("sync", "nowhere"), ("sync", "nowhere", "--watch")])
def test_no_library_is_made_for_what_is_not_there(kb: Kb, tmp_path: Path, command: tuple[str, ...]) -> None:
    told = kb(*command)
    assert told.code == NOT_FOUND
    assert "nowhere" in told.err
    assert list(tmp_path.iterdir()) == []


def test_add_as_json(kb: Kb, notes: Path) -> None:
    told = kb("add", "--json", str(notes))
    assert {change["outcome"] for change in json.loads(told.out)} == {"added"}


def test_search_shows_place_quote_and_link(filled_home: Kb) -> None:
    told = filled_home("search", "block size flag")
    assert told.code == 0
    assert re.search(r"^1\.  Paged attention  .*line.* · note · en · 2026-05-12$", told.out, re.MULTILINE)
    assert re.search(r"^    notes/paging\.md:\d+$", told.out, re.MULTILINE)
    assert "--block-size" in told.out


def test_search_shows_what_stands_around_a_quote(filled_home: Kb) -> None:
    lines = filled_home("search", "--context", "1", "block size flag").out.splitlines()
    at = next(at for at, line in enumerate(lines) if "--block-size" in line)
    assert "cut into blocks of 16 tokens." in lines[at - 1]
    assert "A block table maps" in lines[at + 1]


def test_search_filters(filled_home: Kb) -> None:
    hits = json.loads(filled_home("search", "--json", "--lang", "zh", "--kind", "note", "缓存").out)
    assert {hit["source"]["lang"] for hit in hits} == {"zh"}
    assert json.loads(filled_home("search", "--json", "--since", "2026-05-13", "block size").out) == []


def test_ask_answers_and_refuses_with_a_code_of_its_own(filled_home: Kb) -> None:
    told = filled_home("ask", "--json", "What does --block-size set?")
    assert told.code == 0
    assert Answer.model_validate_json(told.out).citations
    refused = filled_home("ask", "What did the team have for lunch last Friday?")
    assert refused.code == 3
    assert "No answer" in refused.out
    assert "lunch" in filled_home("gaps").out


def test_show_prints_segments_with_locators(filled_home: Kb) -> None:
    told = filled_home("show", "paging.md")
    assert re.search(r"^Blocks › line \d+  body$", told.out, re.MULTILINE)
    assert "    A block table maps" in told.out


def test_ls_in_a_pipe_is_tab_separated_and_whole(filled_home: Kb) -> None:
    lines = filled_home("ls").out.splitlines()
    assert lines[0].split("\t")[:6] == ["title", "kind", "lang", "segments", "chunks", "warnings"]
    assert len(lines) == 4
    assert {line.split("\t")[-1] for line in lines[1:]} == {
        f"notes/{name}" for name in ("paging.md", "前缀缓存.md", "batching.txt")
    }


def test_rm_and_sync(kb: Kb, notes: Path) -> None:
    kb("add", str(notes))
    assert "removed" in kb("rm", "batching.txt").out
    (notes / "paging.md").unlink()
    told = kb("sync", str(notes))
    assert told.code == 0
    assert re.search(r"^removed +notes/paging\.md", told.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "nowhere.md"), 4, "nowhere.md"),
        (("rm", "nowhere.md"), 4, "nowhere.md"),
        (("search", ""), 2, "empty"),
        (("search", "x" * 100_000), 2, "100,000 characters"),
        (("ask", "  "), 2, "empty"),
        (("search", "--kind", "film", "x"), 2, "film"),
        (("search", "--since", "yesterday", "x"), 2, "yesterday"),
        (("nonsense",), 2, "nonsense"),
        (("sync", "nowhere"), 4, "no such folder"),
        (("write", "nowhere"), 4, "nowhere"),
        (("publish", "nowhere"), 4, "nowhere"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_a_code(
    filled_home: Kb, arguments: tuple[str, ...], code: int, message: str
) -> None:
    told = filled_home(*arguments)
    assert told.code == code
    assert message in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


@pytest.mark.parametrize(
    "command", ["ls", "show x", "search x", "ask x", "gaps", "write x", "publish x", "rm x", "rebuild"]
)
def test_without_a_library_nothing_is_made(kb: Kb, tmp_path: Path, command: str) -> None:
    told = kb(*command.split())
    assert told.code == 4
    assert "kb add" in told.err
    assert not (tmp_path / "library").exists()


def test_a_busy_library_is_told_with_its_remedy(filled_home: Kb, library: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.api.conftest import open_fake;"
        "from kb.settings import Settings; from kb.types import Query;"
        "s = open_fake(Settings(home=Path(sys.argv[1]))); s.search(Query(text='x'));"
        "print('owned', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(library / "library")],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "owned\n"
        told = filled_home("search", "block size")
        assert other.stdin is not None
        other.stdin.close()
    assert told.code == 5
    assert "kb serve" in told.err or "another process" in told.err


def test_ctrl_c_is_clean(filled_home: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(services.Service, "search", interrupted)
    told = filled_home("search", "x")
    assert told.code == 130
    assert "Traceback" not in told.err


def test_a_batch_that_is_stopped_says_that_its_work_is_kept(filled_home: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(services.Service, "add", interrupted)
    told = filled_home("add", ".")
    assert (told.code, told.out, told.err) == (130, "", "Stopped. What was finished is kept.\n")


def test_a_fault_of_ours_leaves_no_traceback_on_the_screen(filled_home: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(services.Service, "search", faulty)
    told = filled_home("search", "x")
    assert told.code == 70
    assert "Traceback" not in told.err
    details = Path(re.search(r"(/\S*kb-fault-\S+\.txt)", told.err)[1])  # type: ignore[index]
    assert "by nought" in details.read_text("utf-8")
    details.unlink()


def test_a_wrong_setting_is_named(kb: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_SERVE_PORT", "many")
    told = kb("ls")
    assert told.code == 2
    assert "KB_SERVE_PORT" in told.err


def test_documents_cannot_steer_the_terminal(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_text(
        "# Title \x1b]0;owned\x07\n\nText \x1b[2J \u202egnihton\u202c about zebras.\n", encoding="utf-8"
    )
    kb("add", "odd.md")
    for arguments in (("ls",), ("show", "odd.md"), ("search", "zebras")):
        told = kb(*arguments)
        assert "\x1b" not in told.out
        assert "\u202e" not in told.out


def test_eval_measures_without_filing_gaps(filled_home: Kb, library: Path, tmp_path: Path) -> None:
    before = filled_home("gaps", "--json").out
    case = {
        "id": "one", "question": "What does --block-size set?", "lang": "en", "kind": "fact",
        "gold": [{"file": "paging.md", "quote": "The flag `--block-size` sets the block size."}],
    }  # fmt: skip
    none = {"id": "two", "question": "Who won the match?", "lang": "en", "kind": "none", "gold": []}
    (tmp_path / "cases.jsonl").write_text(f"{json.dumps(case)}\n{json.dumps(none)}\n", encoding="utf-8")
    cases, report, page = (str(tmp_path / name) for name in ("cases.jsonl", "report.json", "report.html"))
    told = filled_home("eval", "--cases", cases, "--corpus", "notes", "--json", report, "--html", page)
    assert told.code == 0
    assert "| all | 2 | 1.00 |" in told.out
    assert json.loads(Path(report).read_text("utf-8"))["groups"]["all"]["recall@10"]["value"] == 1
    assert "What does --block-size set?" in Path(page).read_text("utf-8")
    assert filled_home("gaps", "--json").out == before

    (tmp_path / "floor.json").write_text('{"all": {"recall@10": 1.0, "sources@10": 99}}', encoding="utf-8")
    floor = ("--baseline", report, "--floor", str(tmp_path / "floor.json"))
    below = filled_home("eval", cases, "--corpus", "notes", "--no-answers", *floor)
    assert below.code == 7
    assert "all sources@10 is" in below.err
    assert "recall@10 is" not in below.err
    assert "no case changed" in below.out


def test_eval_leaves_the_library_alone_that_only_the_environment_names(
    kb: Kb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notes(tmp_path / "notes")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "question": "zebras", "lang": "en", "kind": "k", "gold": []}')
    monkeypatch.setenv("KB_HOME", str(tmp_path / "mine"))
    monkeypatch.setenv("KB_CACHE", str(tmp_path / "cache"))
    arguments = ("eval", "--cases", "cases.jsonl", "--corpus", "notes")
    monkeypatch.setattr(sys, "argv", ["kb", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    assert not (tmp_path / "mine").exists()
    assert [path.name[:6] for path in (tmp_path / "cache" / "eval").iterdir()] == ["notes-"]
    assert kb(*arguments, "--home", "other", home="ignored").code == 0
    assert (tmp_path / "other" / "catalog.db").exists()
    assert not (tmp_path / "ignored").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--corpus", "notes"), 2, "nothing to ask"),
        (("--cases", "none.jsonl", "--corpus", "notes"), 2, "none.jsonl"),
        (("--cases", "cases.jsonl", "--corpus", "nowhere"), 4, "no such folder"),
        (("--cases", "cases.jsonl", "--corpus", "notes", "--floor", "cases.jsonl"), 2, "no floor"),
        (("--cases", "cases.jsonl", "--corpus", "notes", "--baseline", "cases.jsonl"), 2, "no report"),
    ],
)
def test_eval_says_what_it_cannot_read(
    kb: Kb, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    write_notes(tmp_path / "notes")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "question": "zebras", "lang": "en", "kind": "k", "gold": []}')
    told = kb("eval", *arguments)
    assert told.code == code
    assert words in told.err


def test_doctor_says_what_is_missing_and_how_to_get_it(filled_home: Kb) -> None:
    told = filled_home("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(told.out)}
    assert {"Python", "torch", "multilingual-e5-small", "LibreOffice", "language model", "library"} <= set(checks)
    assert all(check["remedy"] for check in checks.values() if check["state"] != "ok" and check["name"] != "service")
    assert told.code == (5 if any(check["state"] == "missing" for check in checks.values()) else 0)


def test_no_password_of_an_address_is_printed(filled_home: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KB_LLM_BASE_URL", "KB_EMBED_BASE_URL"):
        monkeypatch.setenv(name, "http://me:pa55@models.example/v1?key=pa55")
    told = filled_home("doctor")
    assert told.out.count("http://models.example/v1") == 2
    assert "pa55" not in told.out + told.err


def test_options_are_the_kinds_that_there_are() -> None:
    assert [kind.value for kind in options.KindName] == [kind.value for kind in Kind]


def test_help_is_complete_and_documented() -> None:
    commands = typer.main.get_group(cli.app).commands
    documented = set(re.findall(r"^\| `kb (\w+)", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE))
    assert documented == set(commands)
    assert [name for name, one in commands.items() if not (one.epilog or "").startswith("Example")] == []
    shown = subprocess.run(
        [sys.executable, "-c", "from api.cli import main; main()", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(re.search(rf"\b{code} ", shown.stdout) for code in EXIT_CODES)


def _taken(command: Any, name: str = "kb") -> Iterator[tuple[str, str]]:
    """What a command and those below it take: the option or argument, and how help names its value."""
    for parameter in command.params:
        if not getattr(parameter, "is_flag", False):
            yield f"{name} {parameter.opts[0]}", str(parameter.metavar)
    for child, below in getattr(command, "commands", {}).items():
        yield from _taken(below, f"{name} {child}")


def test_help_names_all_values_by_one_convention() -> None:
    taken = dict(_taken(typer.main.get_group(cli.app)))
    assert [what for what, value in taken.items() if not re.fullmatch(r"[A-Z][A-Z-]*|[a-z]+(\|[a-z]+)+", value)] == []
    docs = (ROOT / "docs" / "cli.md").read_text("utf-8")
    values = set(re.findall(r"[A-Z-]{2,}", " ".join(taken.values())))
    usages = re.findall(r"`kb ([a-z]+) ([^`]+)`", docs)
    assert {word for _, usage in usages for word in re.findall(r"\b[A-Z]{2,}\b", usage)} <= values
    for name, argument in (
        ("add", "PATH"),
        ("sync", "FOLDER"),
        ("rm", "SOURCE"),
        ("show", "SOURCE"),
        ("write", "TALK"),
    ):
        assert f"`kb {name} {argument}" in docs
        assert argument in [value for what, value in taken.items() if what.startswith(f"kb {name} ")]


def test_the_version_is_told() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from api.cli import main; main()", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (0, f"kb {version('vllm-notes-kb')}\n")


def test_a_folder_that_cannot_hold_a_library_is_told_with_what_to_do(kb: Kb, tmp_path: Path) -> None:
    write_notes(tmp_path / "notes")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    told = kb("add", "notes", home="file")
    assert told.code == 5
    assert "Error: file: the operating system refused it" in told.err
    assert "--home" in told.err


def test_a_question_or_a_folder_that_is_no_utf8_is_told(kb: Kb, tmp_path: Path) -> None:
    assert kb("add", str(write_notes(tmp_path / "notes"))).code == 0
    for command in ("ask", "search"):
        told = kb(command, "\udcff what is a block?")
        assert (told.code, "no text in UTF-8" in told.err) == (2, True)
    assert kb("ls", home="\udcff").code == 2


def test_what_cannot_be_read_does_not_keep_the_rest_out(
    kb: Kb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = write_notes(tmp_path / "notes")
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr("os.access", lambda *_, **__: False)  # as for a folder of somebody else
    told = kb("add", "closed", "nowhere.md", str(notes))
    assert told.code == 1
    assert told.out.count("added") == 3


def test_a_name_stays_on_its_line(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "a\nadded     b.md").write_text("# Title\n\nSome text about blocks.\n", encoding="utf-8")
    told = kb("add", "a\nadded     b.md")
    assert told.out.count("\n") == 1


def test_a_panic_of_the_engine_is_a_fault_without_traceback(kb: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panic(*_: object) -> None:
        raise PanicException("assertion failed")

    monkeypatch.setattr(services, "open_service", panic)
    told = kb("add", ".")
    assert told.code == 70
    assert "PanicException: assertion failed" in told.err
    assert "Traceback" not in told.err


def test_a_narrow_encoding_shows_what_it_can() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from api.session import write_anything; write_anything(); print('显存 16')"],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert run.stdout == b"?? 16\n"


def test_what_is_lacking_is_listed_rated_and_rechecked(kb: Kb, notes: Path) -> None:
    kb("add", str(notes))
    assert "nothing was asked" in kb("rate", "down").err
    kb("ask", "What does --block-size set?")
    assert kb("rate", "down").code == 0
    told = kb("gaps").out
    assert "What does --block-size set?" in told
    assert "found badly answered" in told
    assert json.loads(kb("gaps", "--json").out)[0]["gaps"][0]["origin"] == "rated"
    assert "0 closed" in kb("gaps", "--recheck").err
    assert kb("rate", "up", "What does --block-size set?").code == 0
    assert "No gaps" in kb("gaps").err
