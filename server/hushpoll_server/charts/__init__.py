"""Charts: Vega-Lite specifications of results, and the process that draws them as SVG and PNG."""
