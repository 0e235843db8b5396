"""Loads what dpamatch's commands write: results (JSON), figures' numbers (CSV), lines of objects.

>>> import dpamatch
>>> document = dpamatch.load("rates.json")          # of --save FILE or --format json
>>> document.rates                                  # a DataFrame
>>> document.rounds("rates", "rate_msgs_per_s")     # a row for each round
>>> dpamatch.draw("figures/sizes.csv", "sizes.pdf", x_scale="log", y_scale="log")

A loader without pandas returns rows as dictionaries (`Document.rows`). DataFrames need pandas, and
`draw` needs matplotlib, too.
"""

from .documents import Document, WrongDocument, load, load_csv, load_lines, loads
from .figures import draw, load_figure

__all__ = [
    "Document",
    "WrongDocument",
    "draw",
    "load",
    "load_csv",
    "load_figure",
    "load_lines",
    "loads",
]
