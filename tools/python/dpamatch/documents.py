"""Documents, and tables in CSV."""

import csv
import json
import os

SCHEMA = "dpamatch-results-1"
ROUNDS = "_rounds"


class WrongDocument(ValueError):
    """A file is no document of dpamatch, or one of another form."""


def pandas():
    """The module, or an error that says how to install it."""
    try:
        import pandas as module
    except ImportError as error:
        raise ImportError("DataFrames need pandas: pip install pandas") from error
    return module


class Document:
    """What a command printed with --format json, or wrote with --save.

    An attribute or an item with a table's name is its DataFrame. `keys` and `figures` name the
    columns that identify a row and those that can be compared.
    """

    def __init__(self, whole, source="document"):
        if not isinstance(whole, dict) or "schema" not in whole:
            raise WrongDocument(f"{source}: no document of dpamatch")
        if whole["schema"] != SCHEMA:
            raise WrongDocument(
                f"{source}: the form is {whole['schema']}, and this package reads {SCHEMA}"
            )
        self.source = source
        self.command = whole["command"]
        self.command_line = whole["command_line"]
        self.options = whole["options"]
        self.seed = whole["seed"]
        self.version = whole["version"]
        self.commit = whole["commit"]
        self.modified = whole["modified"]
        self.machine = whole["machine"]
        self.results = whole["results"]
        self.keys = {table["name"]: table["keys"] for table in whole["tables"]}
        self.figures = {
            table["name"]: [figure["name"] for figure in table["figures"]]
            for table in whole["tables"]
        }
        self.titles = {table["name"]: table["title"] for table in whole["tables"]}
        self.notes = {table["name"]: table["notes"] for table in whole["tables"]}

    @property
    def names(self):
        """Names of the tables: those that the document describes, and other lists of objects."""
        others = [
            name
            for name, value in self.results.items()
            if name not in self.keys
            and isinstance(value, list)
            and value
            and all(isinstance(row, dict) for row in value)
        ]
        return list(self.keys) + others

    def rows(self, name):
        """The rows of a table as dictionaries; this needs no pandas."""
        if name not in self.names:
            raise KeyError(f"{self.source}: no table {name}; there are: {', '.join(self.names)}")
        return self.results[name]

    def table(self, name):
        """A table as a DataFrame. A measured figure's rounds are lists in NAME_rounds."""
        rows = self.rows(name)
        frame = pandas().DataFrame(rows)
        keys = [key for key in self.keys.get(name, []) if key in frame]
        frame = frame[keys + [column for column in frame if column not in keys]]
        frame.attrs["title"] = self.titles.get(name, "")
        frame.attrs["notes"] = self.notes.get(name, [])
        return frame

    def rounds(self, name, figure):
        """A measured figure with a row for each round: the table's keys, `round` and the value."""
        column = figure + ROUNDS
        keys = self.keys.get(name, [])
        long = [
            {**{key: row.get(key) for key in keys}, "round": number, figure: value}
            for row in self.rows(name)
            for number, value in enumerate(row.get(column, []))
        ]
        if not long:
            raise KeyError(f"{self.source}: table {name} has no rounds of {figure}")
        return pandas().DataFrame(long)

    def __getitem__(self, name):
        return self.table(name)

    def __getattr__(self, name):
        # Only for names that the instance does not have; `results` may not be there yet.
        if not name.startswith("_") and name in self.__dict__.get("keys", {}):
            return self.table(name)
        raise AttributeError(f"no member and no table {name}")

    def __dir__(self):
        return [*super().__dir__(), *self.keys]

    def __repr__(self):
        return f"<{self.command_line}: {', '.join(self.names) or 'no tables'}>"


def loads(text, source="document"):
    """A document out of its text."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongDocument(f"{source}: no JSON: {error}") from error
    return Document(whole, source)


def load(path):
    """A document out of a file of --save, or of what --format json printed."""
    with open(path, encoding="utf-8") as file:
        return loads(file.read(), os.fspath(path))


def load_csv(path):
    """The tables of --format csv, or of a file of --out: DataFrames by name.

    The first column of a file with several tables names the table; a table then has only its own
    columns. A file with one table has the file's name.
    """
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        head = next(reader, None)
    if not head:
        raise WrongDocument(f"{path}: no header line")
    frame = pandas().read_csv(path)
    if head[0] != "table":
        name = os.path.splitext(os.path.basename(path))[0]
        return {name: frame}
    return {
        name: rows.drop(columns="table").dropna(axis="columns", how="all").reset_index(drop=True)
        for name, rows in frame.groupby("table", sort=False)
    }


def load_lines(path):
    """The objects of --format jsonl (`match`, `gen`, `trace dump`) as a DataFrame."""
    return pandas().read_json(path, lines=True)
