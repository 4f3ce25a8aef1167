"""Formulas of prose as images inside the page: TeX drawn by matplotlib, no network, no scripts.

matplotlib knows most of TeX's mathematics; what it does not know is shown as it is written.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import re

_BODY = r"(?:[^$\n]|\n(?!\s*\n))+?"  # a formula may go on in the next line, over no blank one
# two dollar signs, or one with blanks inside at both ends or none: "$5 and $6" is no formula
FORMULA = re.compile(rf"\$\$.+?\$\$|\$(?! ){_BODY}(?<! )\$(?!\d)|\$ {_BODY} \$", re.DOTALL)
SIZE = 12.0  # of letters, in points: as large as the text around them

# what the book writes and matplotlib calls otherwise, or lacks
_REPLACED = (
    (r"\\(?:textrm|text|mathop)\{((?:[^{}]|\{[^{}]*\})*)\}", r"\\mathrm{\1}"),
    (r"\\stackrel\{(?:[^{}]|\{[^{}]*\})*\}\{=\}", r":="),
    (r"\\(?:begin|end)\{(?:aligned|split|align\*?)\}", ""),
    (r"\\label\{[^}]*\}|\\nonumber|\\!", ""),
)


def formula(text: str) -> str:
    r"""HTML for a formula with its dollar signs; two on each side make it a paragraph.

    >>> formula(r"$\unknowncommand{x}$")
    '<span class="math">\\unknowncommand{x}</span>'
    """
    own_line = text.startswith("$$")
    source = text.strip("$").strip()
    kind = "div" if own_line else "span"
    lines = [line.replace("&", "").strip() for line in _prepared(source).split(r"\\")]
    images = [_image(line) for line in lines if line]
    if not images or not all(images):
        return f'<{kind} class="math">{html.escape(source)}</{kind}>'
    return f'<{kind} class="math drawn">{"<br>".join(filter(None, images))}</{kind}>'


def _prepared(source: str) -> str:
    for pattern, replacement in _REPLACED:
        source = re.sub(pattern, replacement, source)
    return " ".join(source.split())


@functools.cache
def _image(source: str) -> str:
    """An img element on the text's base line; "" where matplotlib is missing or cannot draw it."""
    try:
        from matplotlib.font_manager import FontProperties
        from matplotlib.mathtext import math_to_image
    except ImportError:
        return ""
    made = io.BytesIO()
    try:
        font = FontProperties(size=SIZE, math_fontfamily="cm")
        depth = math_to_image(f"${source}$", made, prop=font, dpi=72, format="svg")
    except (ValueError, RuntimeError):  # matplotlib's for TeX that it does not know
        return ""
    coded = base64.b64encode(made.getvalue()).decode()
    style = f"vertical-align: {-depth / SIZE:.2f}em"
    return (
        f'<img alt="{html.escape(source)}" style="{style}" src="data:image/svg+xml;base64,{coded}">'
    )
