"""What a trace looks like: tasks, Chrome's format, SVG, graphviz. Imported when it is asked for."""
