"""The numbers of figures, drawn again."""

import csv
import os

from .documents import WrongDocument, pandas

COLUMNS = ["panel", "series", "x", "y"]


def load_figure(path):
    """The CSV beside a figure: panel, series, x, y, and low and high if it has error bars."""
    with open(path, encoding="utf-8", newline="") as file:
        head = next(csv.reader(file), [])
    if head[:4] != COLUMNS:
        raise WrongDocument(f"{path}: the first columns are not {', '.join(COLUMNS)}")
    return pandas().read_csv(path)


def draw(data, out=None, *, x_scale="linear", y_scale="linear", x_label=None, y_label=None):
    """Draws a figure's numbers, a panel beside the other; returns matplotlib's figure.

    `data` is the path of a CSV, or a DataFrame with its columns. `out` is the file to write; its
    ending says the form, such as .pdf. Series over numbers are lines, series over names are bars.
    The CSV has no titles of axes and no scales, so they are arguments.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from error
    frame = load_figure(data) if isinstance(data, (str, os.PathLike)) else data
    panels = list(frame.groupby("panel", sort=False))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 3.2), squeeze=False, layout="constrained"
    )
    for axis, (title, panel) in zip(axes[0], panels):
        axis.set_title(title, fontsize="medium")
        if pandas().api.types.is_numeric_dtype(panel["x"]):
            _lines(axis, panel)
            axis.set_xscale(x_scale)
        else:
            _bars(axis, panel)
        axis.set_yscale(y_scale)
        axis.set_xlabel(x_label or "")
        axis.set_ylabel(y_label or "")
        axis.legend(fontsize="small")
    if out is not None:
        figure.savefig(out)
        plt.close(figure)
    return figure


def _lines(axis, panel):
    for name, series in panel.groupby("series", sort=False):
        bounds = None
        if "low" in series and series["low"].notna().all():
            bounds = [series["y"] - series["low"], series["high"] - series["y"]]
        axis.errorbar(series["x"], series["y"], yerr=bounds, label=name, marker="o", capsize=2)


def _bars(axis, panel):
    wide = panel.pivot_table(index="x", columns="series", values="y", sort=False)
    wide.plot.bar(ax=axis, rot=0)
