"""Plots of measurements, as SVG: the same values give the same bytes.

They are drawn by Vega-Lite through `vl-convert-python`. Measured on Python 3.11 with one plot of 35
dots with intervals:

| package | installed | import | file | two runs |
|---|--:|--:|--:|---|
| vl-convert-python | 86 MB, nothing else | 3 ms | 34 KB | the same bytes |
| altair, which draws with it | 108 MB, 12 packages | 330 ms | | |
| matplotlib | 177 MB, 11 packages | 500 ms | 27 KB | the same bytes |
| lets-plot | 56 MB, 4 packages | 50 ms | 53 KB | random ids |
| pygal | 2 MB, 4 packages | 50 ms | 41 KB | random ids; intervals only on bars and lines |

All write text as text. plotly needs a browser to write a file. `vl-convert-python` measures text
with a font of its own, so that the bytes do not depend on the fonts of the machine."""
