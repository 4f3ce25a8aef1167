// Draws a page's plots with Bokeh; a click on a name hides its curves in every panel of a chart; the
// values under the pointer are shown; colours are those of the page, in the light and in the dark.
"use strict";
(() => {
  const root = document.documentElement;
  const MOST_ROWS = 12;  // of values under the pointer
  const NEAR = 20;       // pixels beyond which a point is not under the pointer

  // --- colours: each is replaced by the page's variable that has its name, if there is one ---------
  const given = new WeakMap();  // model -> its own colours, by property

  const own = model => {
    if (!given.has(model)) {
      const found = {};
      for (const property of model) {
        let value;
        try { value = property.get_value(); } catch { continue; }  // one that has no value yet
        if (value && typeof value === "object" && typeof value.value === "string") value = value.value;
        if (typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value)) found[property.attr] = value;
      }
      given.set(model, found);
    }
    return given.get(model);
  };

  const paint = doc => {
    const style = getComputedStyle(root);
    const shown = hex => style.getPropertyValue(`--c-${hex.slice(1).toLowerCase()}`).trim() || hex;
    for (const model of doc.all_models) {
      const colours = Object.entries(own(model)).map(([name, hex]) => [name, shown(hex)]);
      if (colours.length) model.setv(Object.fromEntries(colours));
    }
  };

  // --- values under the pointer --------------------------------------------------------------------
  const digits = value => {
    if (!Number.isFinite(value)) return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
    return String(Number(value.toPrecision(4)));
  };

  const nearest = (xs, ys, scale, sx) => {
    let best = -1, least = NEAR;
    for (let i = 0; i < xs.length; i++) {
      if (Number.isNaN(xs[i]) || Number.isNaN(ys[i])) continue;
      const distance = Math.abs(scale.compute(xs[i]) - sx);
      if (distance < least) { least = distance; best = i; }
    }
    return best;
  };

  const curvesAt = (view, at) => {
    const { x_scale, y_scale } = view.frame;
    const rows = [];
    for (const item of view.model.renderers) {
      const [kind, colour] = item.glyph.tags;
      if (kind !== "curve" || !item.visible || !item.name) continue;
      const { x, y, low, high } = item.data_source.data;
      const i = nearest(x, y, x_scale, x_scale.compute(at.x));
      if (i < 0) continue;
      const band = low ? ` (${digits(low[i])} to ${digits(high[i])})` : "";
      const away = Math.abs(y_scale.compute(y[i]) - y_scale.compute(at.y));
      rows.push({ name: item.name, colour, x: x[i], y: y[i], text: digits(y[i]) + band, away });
    }
    rows.sort((a, b) => a.away - b.away);
    const few = rows.slice(0, MOST_ROWS);
    const distance = row => Math.abs(x_scale.compute(row.x) - x_scale.compute(at.x));
    const first = few.length ? few.reduce((a, b) => (distance(b) < distance(a) ? b : a)).x : 0;
    for (const row of few) if (row.x !== first) row.text += ` at ${digits(row.x)}`;
    few.sort((a, b) => b.y - a.y);
    if (rows.length > few.length) few.push({ name: `and ${rows.length - few.length} more`, text: "" });
    return few.length ? { head: [digits(first)], rows: few } : null;
  };

  const cellAt = (view, at) => {
    for (const item of view.model.renderers) {
      const [kind, colour] = item.glyph.tags;
      if (kind !== "cell" || !item.visible) continue;
      const { left, right, top, bottom, said } = item.data_source.data;
      for (let i = 0; i < said.length; i++) {
        if (at.x >= left[i] && at.x <= right[i] && at.y >= top[i] && at.y <= bottom[i]) {
          return { head: [], rows: [{ name: said[i], colour, text: "" }] };
        }
      }
    }
    return null;
  };

  const element = (tag, kind, text) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text) made.textContent = text;
    return made;
  };

  const addReadout = (place, view) => {
    const box = place.appendChild(element("div", "readout"));
    const label = view.model.below[0]?.axis_label?.text ?? "";
    const hide = () => { box.style.display = "none"; };
    const show = at => {
      const found = curvesAt(view, at) ?? cellAt(view, at);
      if (!found) { hide(); return; }
      const head = found.head.map(text => element("div", "at", label ? `${label} ${text}` : text));
      const rows = found.rows.map(({ name, colour, text }) => {
        const row = element("div", "row");
        const mark = row.appendChild(element("i"));
        if (colour) mark.style.setProperty("--colour", `var(--c-${colour.slice(1).toLowerCase()}, ${colour})`);
        else mark.style.visibility = "hidden";
        row.append(element("span", "", name), element("b", "", text));
        return row;
      });
      box.replaceChildren(...head, ...rows);
      box.style.display = "block";
      const room = place.clientWidth - box.offsetWidth;
      const right = at.sx + 16 <= room ? at.sx + 16 : at.sx - 16 - box.offsetWidth;
      box.style.left = `${Math.max(0, Math.min(room, right))}px`;
      box.style.top = `${Math.max(0, at.sy - box.offsetHeight - 12)}px`;
    };
    for (const kind of ["mousemove", "tap"]) view.model.on_event(kind, show);
    view.model.on_event("mouseleave", hide);
  };

  // --- names that hide their curves ----------------------------------------------------------------
  const addLegend = (chart, views) => {
    const buttons = [...chart.querySelectorAll(".legend button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const { label } = button.dataset;
        const shown = button.getAttribute("aria-pressed") !== "true";
        for (const each of buttons) {
          if (each.dataset.label === label) each.setAttribute("aria-pressed", String(shown));
        }
        for (const view of views) {
          for (const item of view.model.renderers) if (item.name === label) item.visible = shown;
        }
      });
    }
  };

  // --- values that are written into cells, where they have room -------------------------------------
  const fit = view => {
    const { x_scale } = view.frame;
    const room = x_scale.compute(1) - x_scale.compute(0) > 38;
    for (const item of view.model.renderers) if (item.glyph.tags[0] === "values") item.visible = room;
  };

  const draw = async data => {
    const item = JSON.parse(data.textContent);
    const [view] = (await Bokeh.embed.embed_item(item)).roots;
    if (matchMedia("(pointer: coarse)").matches) {
      // a finger scrolls the page, unless a tool is chosen
      for (const tool of view.model.toolbar.tools) if ("active" in tool) tool.active = false;
    }
    addReadout(document.getElementById(item.target_id), view);
    return view;
  };

  const begin = async () => {
    const drawn = [];
    for (const chart of document.querySelectorAll(".chart")) {
      const views = [];
      for (const data of chart.querySelectorAll("script[data-plot]")) views.push(await draw(data));
      addLegend(chart, views);
      drawn.push(...views);
      for (const view of views) paint(view.model.document);
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const view of drawn) paint(view.model.document);
    });
    const fitAll = () => drawn.forEach(fit);
    addEventListener("resize", () => setTimeout(fitAll, 100));  // after Bokeh's own
    fitAll();
    root.dataset.drawn = String(drawn.length);
  };
  begin();
})();
