'use strict';
(() => {
  // Tables: the text of all rows, for the clipboard and for a file.

  const rowsOf = (table) =>
      Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.textContent.replace(/\s+/g, ' ').trim()));

  // A spreadsheet would run text that starts like a formula. Figures, also with a unit of percent, are none.
  const isFigure = (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?( ?%)?$/i.test(text);
  const harmless = (text) => (text.length > 1 && /^[=+\-@]/.test(text) && !isFigure(text) ? '\'' + text : text);
  const quoted = (text) => (/[",]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

  const tabSeparated = (table) => rowsOf(table).map((row) => row.map(harmless).join('\t') + '\n').join('');
  const commaSeparated = (table) =>
      rowsOf(table).map((row) => row.map((text) => quoted(harmless(text))).join(',') + '\n').join('');

  const addButton = (tools, text, label, act) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.setAttribute('aria-label', label);
    button.addEventListener('click', () => act(button));
    tools.append(button);
  };

  const toolsBefore = (element) => {
    const tools = document.createElement('div');
    tools.className = 'tools';
    element.before(tools);
    return tools;
  };

  const copyBySelection = (text) => {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  };

  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyBySelection(text);  // without permission or a secure origin
    }
    const before = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = before), 1500);
  };

  const save = (name, text) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
    link.download = name.replace(/[^\w.-]+/g, '_');
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const box of document.querySelectorAll('div.table')) {
    const table = box.querySelector('table');
    const name = box.dataset.name;
    const tools = toolsBefore(box.firstElementChild);
    addButton(tools, 'Copy', `Copy table ${name}`, (button) => copy(tabSeparated(table), button));
    addButton(tools, 'CSV', `Download table ${name} as CSV`, () => save(name + '.csv', commaSeparated(table)));
  }

  // Timelines: zoom and pan change the viewBox of the inner SVG, whose height stays.

  const kMostZoom = 50;
  const kTicks = 8;
  const svgElement = (name, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const tickOf = (length) => {
    const least = Math.max(length, 1e-9) / kTicks;
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  };

  class Timeline {
    constructor(svg) {
      this.svg = svg;
      this.plot = svg.querySelector('.plot');
      this.axis = svg.querySelector('.axis');
      this.left = Number(this.plot.getAttribute('x'));
      this.top = Number(this.plot.getAttribute('y'));
      [, , this.width, this.height] = this.plot.getAttribute('viewBox').split(' ').map(Number);
      this.lengthMs = Number(svg.dataset.lengthMs);
      this.fit();
    }

    fit() { this.show(0, this.width); }

    // Shows [from, from + shown) of the plot's width.
    show(from, shown) {
      this.shown = Math.min(this.width, Math.max(this.width / kMostZoom, shown));
      this.from = Math.min(this.width - this.shown, Math.max(0, from));
      this.plot.setAttribute('viewBox', `${this.from} 0 ${this.shown} ${this.height}`);
      for (const pattern of this.svg.querySelectorAll('pattern.zoomed'))
        pattern.setAttribute('patternTransform', `scale(${this.shown / this.width} 1) rotate(45)`);
      this.drawAxis();
    }

    zoom(factor, at = this.from + this.shown / 2) {
      const shown = Math.min(this.width, Math.max(this.width / kMostZoom, this.shown / factor));
      this.show(at - ((at - this.from) * shown) / this.shown, shown);
    }

    pan(share) { this.show(this.from + share * this.shown, this.shown); }

    drawAxis() {
      const msPerUnit = this.lengthMs / this.width;
      const [fromMs, shownMs] = [this.from * msPerUnit, this.shown * msPerUnit];
      const tick = tickOf(shownMs);
      this.axis.replaceChildren();
      for (let i = Math.ceil(fromMs / tick - 1e-9); i * tick <= fromMs + shownMs * (1 + 1e-9); ++i) {
        const x = this.left + (this.width * (i * tick - fromMs)) / shownMs;
        const bottom = this.top + this.height;
        this.axis.append(svgElement('line', {class: 'tick', x1: x, x2: x, y1: this.top - 4, y2: bottom}));
        const label = svgElement('text', {class: 'soft', x, y: 13, 'text-anchor': 'middle'});
        label.textContent = Number((i * tick).toPrecision(6)) + (this.axis.childElementCount === 1 ? ' ms' : '');
        this.axis.append(label);
      }
    }

    // A pointer's place in the units of the plot.
    placeOf(event) {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) * this.svg.viewBox.baseVal.width) / box.width - this.left;
      return this.from + (x * this.shown) / this.width;
    }

    listen() {
      this.svg.tabIndex = 0;
      this.svg.addEventListener(
          'wheel',
          (event) => {
            if (!event.ctrlKey) return;
            event.preventDefault();
            this.zoom(2 ** (-event.deltaY / 200), this.placeOf(event));
          },
          {passive: false},
      );
      this.svg.addEventListener('pointerdown', (event) => {
        this.held = this.placeOf(event);
        this.svg.setPointerCapture(event.pointerId);
      });
      this.svg.addEventListener('pointermove', (event) => {
        if (this.held !== undefined) this.show(this.from + this.held - this.placeOf(event), this.shown);
      });
      for (const end of ['pointerup', 'pointercancel']) this.svg.addEventListener(end, () => (this.held = undefined));
      const keys = {
        '+': () => this.zoom(1.5),
        '=': () => this.zoom(1.5),
        '-': () => this.zoom(1 / 1.5),
        0: () => this.fit(),
        ArrowLeft: () => this.pan(-0.2),
        ArrowRight: () => this.pan(0.2),
      };
      this.svg.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
        event.preventDefault();
        keys[event.key]();
      });
    }
  }

  const timelines = [];
  for (const box of document.querySelectorAll('div.timeline')) {
    const timeline = new Timeline(box.querySelector('svg.underlap-timeline'));
    timeline.listen();
    timelines.push(timeline);
    const tools = toolsBefore(box.firstElementChild);
    addButton(tools, '+', 'Zoom in', () => timeline.zoom(2));
    addButton(tools, '−', 'Zoom out', () => timeline.zoom(1 / 2));
    addButton(tools, 'Fit', 'Show the whole step', () => timeline.fit());
    tools.append('Ctrl+wheel zooms, dragging moves. Keys: + − 0 ← →');
  }

  window.underlapPage = {tabSeparated, commaSeparated, timelines};
})();
