"""`python -m dpamatch FIGURE.csv OUT.pdf`: draws a figure's numbers."""

import argparse

from .documents import WrongDocument
from .figures import draw


def main():
    parser = argparse.ArgumentParser(prog="python -m dpamatch", description=__doc__)
    parser.add_argument("csv", help="the CSV that a command wrote beside a figure")
    parser.add_argument("out", help="the file to write; its ending says the form")
    for side in "xy":
        parser.add_argument(f"--{side}-scale", choices=["linear", "log"], default="linear")
        parser.add_argument(f"--{side}-label")
    args = parser.parse_args()
    try:
        draw(
            args.csv,
            args.out,
            x_scale=args.x_scale,
            y_scale=args.y_scale,
            x_label=args.x_label,
            y_label=args.y_label,
        )
    except (WrongDocument, OSError, ValueError, ImportError) as error:
        parser.exit(2, f"dpamatch: {error}\n")


if __name__ == "__main__":
    main()
