"""The executed chapter as one HTML page that needs nothing else: prose, code, outputs, figures."""

from __future__ import annotations

import html
import re
from typing import Any

from lockstep.book.mathematics import FORMULA, formula
from lockstep.book.outputs import Output, colourless
from lockstep.book.pieces import Cell
from lockstep.book.running import CellRun, ChapterRun
from lockstep.report import page
from lockstep.report.quantities import duration

IMAGES = ("image/svg+xml", "image/png", "image/jpeg")  # the first that an output has is shown


def chapter_page(run: ChapterRun) -> str:
    """The whole document."""
    name = f"{run.chapter.title}: {run.tab}"
    runs = iter(run.cells)
    parts = []
    for piece in run.chapter.of_tab(run.tab):
        parts.append(_cell(next(runs)) if isinstance(piece, Cell) else _prose(piece.text))
    return page.document(
        name,
        page.heading(name, f"Run by Lockstep from {run.chapter.path.name}, {_kept(run)}."),
        _banner(run),
        _how(run),
        f"<style>\n{CSS}</style>",
        *parts,
        page.section("Cells", _table(run)),
    )


def _kept(run: ChapterRun) -> str:
    return (
        "its cells unchanged but for what is named here" if run.patches else "its cells unchanged"
    )


def _banner(run: ChapterRun) -> str:
    total, took = len(run.cells), duration(run.seconds)
    if run.is_whole:
        return page.banner("good", f"All {total} cells ran", f"in {took}.")
    failed = [item for item in run.cells if item.executed.problem]
    first = f"First: cell {failed[0].number}, {failed[0].executed.problem}"
    return page.banner("bad", f"{run.num_ok} of {total} cells ran", f"in {took}. {first}")


def _how(run: ChapterRun) -> str:
    """What a reader must know before the results: quick or not, virtual devices, versions."""
    quick = "Training was shortened: the results are not those of the full chapter."
    parts = [page.banner("fair", "Quick", quick)] if run.settings.quick else []
    if run.notes:
        parts.append(page.banner("fair", "Note", f"{'; '.join(run.notes)}."))
    if run.patches:
        parts.append(page.banner("fair", "Changed", f"{'; '.join(run.patches)}."))
    return "\n".join([*parts, page.section("With", page.facts(list(run.facts.items())))])


def _table(run: ChapterRun) -> str:
    rows = [
        (
            str(item.number),
            (item.cell.first_line[:70], "text"),
            duration(item.executed.seconds),
            (item.executed.problem or "ok", "text bad" if item.executed.problem else "text"),
        )
        for item in run.cells
    ]
    return page.table(("cell", "first line", "time", "outcome"), rows)


def _prose(text: str) -> str:
    from markdown_it import MarkdownIt

    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0])
        return f"\x00{len(hidden) - 1}\x00"

    # mathematics is kept as it is written: nothing in it is emphasis
    kept = FORMULA.sub(hide, text.replace("\x00", ""))
    kept = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"*Figure: \1*", kept)  # the image is not here
    made: str = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .render(kept.replace("\x00", "\ue000"))
    )
    made = re.sub("\ue000(\\d+)\ue000", lambda found: formula(hidden[int(found[1])]), made)
    made = re.sub(r"<(/?)h1>", r"<\1h2>", made)  # the page has a title already
    return f'<div class="prose">{made}</div>'


def _cell(run: CellRun) -> str:
    problem = run.executed.problem
    state = f' <span class="bad">{html.escape(problem)}</span>' if problem else ""
    shown = "\n".join(_output(output) for output in run.executed.outputs)
    return (
        f'<section class="cell"><p class="note">[{run.number}] '
        f"{duration(run.executed.seconds)}{state}</p>\n"
        f"{_code(run.cell.source)}\n{shown}\n</section>"
    )


def _code(source: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    made: str = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code">{made}</pre>'


def _output(output: Output) -> str:
    if output["output_type"] == "stream":
        text = html.escape(colourless(output["text"]))
        return f'<pre class="{html.escape(output["name"])}">{text}</pre>'
    if output["output_type"] == "error":
        return f'<pre class="stderr">{html.escape(chr(10).join(output["traceback"]))}</pre>'
    data: dict[str, Any] = output["data"]
    for kind in IMAGES:
        if kind in data:
            return f'<img alt="{html.escape(_text(data))}" src="{_address(kind, data[kind])}">'
    return f"<pre>{html.escape(_text(data))}</pre>" if _text(data) else ""


def _text(data: dict[str, Any]) -> str:
    text = data.get("text/plain", "")
    return colourless(text if isinstance(text, str) else "".join(text))


def _address(kind: str, content: Any) -> str:
    """The image itself as an address: a page that is moved keeps its figures."""
    import base64

    text = content if isinstance(content, str) else "".join(content)
    coded = base64.b64encode(text.encode()).decode() if kind.endswith("xml") else text.strip()
    return f"data:{kind};base64,{coded}"


CSS = """\
.prose { margin: 1rem .2rem; overflow-wrap: anywhere; }
.prose h2, .prose h3 { margin: 1.6rem 0 .5rem; font-size: 1.15rem; }
.math { font-family: ui-serif, Georgia, serif; font-style: italic; }
.math.drawn img { height: auto; }
@media (prefers-color-scheme: dark) { .math.drawn img { filter: invert(1); } }
div.math { overflow-x: auto; padding: .3rem 1rem; }
.cell { padding: .5rem .8rem .8rem; }
.cell pre { margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 40rem;
  overflow-y: auto; }
.cell img { display: block; max-width: 100%; background: #fefefe; margin: .6rem 0;
  border-radius: .3rem; }
pre.stderr { color: var(--bad); }
.code .k, .code .kn, .code .kc, .code .ow { color: var(--bad); }
.code .s1, .code .s2, .code .sd, .code .sa, .code .si { color: var(--good); }
.code .c1, .code .cm { color: var(--muted); }
"""
