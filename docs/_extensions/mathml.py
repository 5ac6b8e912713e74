"""Mathematics as MathML, which browsers draw by themselves: no script, and nothing to download."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.writers.html5 import HTML5Translator

logger = getLogger(__name__)


def as_mathml(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    """A formula; a warning, which ends the build, if it cannot be written in MathML."""
    text = node.astext().replace(r"\dots", r"\ldots")  # docutils knows the latter only
    try:
        return latex2mathml.tex2mathml(text, as_block=as_block)
    except MathError as error:
        logger.warning("%s In: %s", error, text, location=node)
        return ""


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a sentence."""
    translator.body.append(as_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    translator.body.append(f'<div class="math">{as_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make it available as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
