"""The style of a page: light and dark by the reader's choice, readable on a phone."""

CSS = """\
:root {
  --ink: #1f2933; --muted: #6b7580; --grid: #dfe4e8; --paper: #fefefe; --back: #f4f6f8;
  --good: #0b6b4f; --good-back: #e3f4ee; --bad: #a33a06; --bad-back: #fdeee6;
  --fair: #7a5b00; --fair-back: #fdf5dd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaee; --muted: #a3adb7; --grid: #333c45; --paper: #1a2026; --back: #12161a;
    --good: #6fd6b4; --good-back: #12332a; --bad: #ffa477; --bad-back: #3d2113;
    --fair: #f0cf70; --fair-back: #362c0e;
    --f-oracle: #dbe1e7; --f-numpy: #929ca6;
    --f-torch: #ff8a3d; --f-jax: #4fb0f0; --f-tensorflow: #f5c04a;
    --f-paddle: #8fd0f5; --f-mindspore: #e3a0c6; --f-mxnet: #3fd0a4;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .75rem; }
header p { color: var(--muted); margin: .3rem 0 1rem; overflow-wrap: anywhere; }
section {
  background: var(--paper); border: 1px solid var(--grid); border-radius: .6rem;
  padding: 1rem 1.1rem; margin-top: 1rem;
}
.banner { border-radius: .6rem; padding: .85rem 1.1rem; margin: 1rem 0 0; font-size: 1.05rem; }
.banner strong { margin-right: .4em; }
section > *:last-child { margin-bottom: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .fair { color: var(--fair); }
.banner.good { background: var(--good-back); }
.banner.bad { background: var(--bad-back); }
.banner.fair { background: var(--fair-back); }
.wide { overflow-x: auto; }
dl + *, .wide + * { margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .55rem; text-align: right; border-bottom: 1px solid var(--grid); }
thead th { color: var(--muted); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
th:first-child, .text { text-align: left; }
th:first-child, td { white-space: nowrap; }
td.text { white-space: normal; min-width: 8.5rem; }
tbody tr:last-child > * { border-bottom: 0; }
td.good, td.bad, td.fair { font-weight: 600; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .6rem 1.5rem;
  margin: 0; }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0 0 1.25rem; }
figure:last-child { margin-bottom: 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg text { font-family: inherit !important; }
figcaption, .note { color: var(--muted); font-size: .9rem; }
p { margin: 0 0 .6rem; }
pre { overflow-x: auto; background: var(--back); padding: .8rem; border-radius: .4rem;
  font: .85rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
summary { cursor: pointer; color: var(--muted); }
@media (max-width: 34rem) {
  main { padding: 1rem .6rem 3rem; }
  section { padding: .8rem; }
  figure { overflow-x: auto; }
  figure svg { min-width: 26rem; }
}
"""
