"""Executes a page as a notebook, and rewrites it with what its programs print and draw.

    python execute.py PAGE.md

The notebook lies beside the page afterwards, as PAGE.ipynb. It runs in an empty folder, and may take two minutes: one
on two cores, and one more as these may have other work.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

MOST_SECONDS = 120


def main():
    page = Path(sys.argv[1]).resolve()
    notebook = jupytext.read(page, fmt="md")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    # What libraries say of their own is none of the reader's business.
    os.environ["PYTHONWARNINGS"] = "ignore"
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=MOST_SECONDS, resources={"metadata": {"path": folder}}).execute()
    seconds = time.monotonic() - begun
    if seconds > MOST_SECONDS:
        sys.exit(f"{page.name}: {seconds:.0f} s, but a tutorial may take {MOST_SECONDS} s")
    jupytext.write(notebook, page.with_suffix(".ipynb"))
    resources = {"output_files_dir": f"{page.stem}-output", "unique_key": page.stem}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources)
    for name, content in resources["outputs"].items():
        (page.parent / name).parent.mkdir(exist_ok=True)
        (page.parent / name).write_bytes(content)
    page.write_text(f"{text}\n[This page as a notebook]({page.stem}.ipynb)\n", encoding="utf-8")
    print(f"{page.name}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
