"""Pictures as bytes: the colours they have in common, and how they are written."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


#: Metadata without a date, by form.
_UNDATED: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


def empty(width: float, height: float) -> Figure:
    """Return a figure of so many inches, to draw in."""
    # Half a second to import: only where a picture is asked for.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def drawn(figure: Figure, form: str = "svg") -> bytes:
    """Return a figure as ``svg``, ``png`` or ``pdf``: of the same content, the same bytes."""
    from matplotlib import rc_context

    buffer = BytesIO()
    # Without a date and with fixed ids nothing but the content counts.
    with rc_context({"svg.hashsalt": "stormcut"}):
        figure.savefig(buffer, format=form, metadata=_UNDATED.get(form))
    return buffer.getvalue()
