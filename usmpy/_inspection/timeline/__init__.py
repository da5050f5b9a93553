"""Formats of a trace: tasks, Chrome's JSON, SVG and Graphviz. Imported by the first use."""
