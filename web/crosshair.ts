/** Place of the line at the pointer, as a share of the chart's width, and the text beside it. */
export interface Reading {
  readonly at: number;
  readonly text: string;
}

/** Share of the width that an arrow key moves by. */
const KEY_STEP = 1 / 80;

/** A line through a chart that follows the pointer or the arrow keys, with what the chart has there. */
export class Crosshair {
  readonly #chart: SVGSVGElement;
  readonly #line: SVGLineElement;
  readonly #text: HTMLElement;
  readonly #read: (at: number) => Reading | null;
  /** Share of the width; null: nothing points at the chart. */
  #at: number | null = null;

  /** `read`: null where there is nothing. */
  constructor(chart: SVGSVGElement, text: HTMLElement, read: (at: number) => Reading | null) {
    this.#chart = chart;
    this.#text = text;
    this.#read = read;
    this.#line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
    this.#line.classList.add('crosshair');
    chart.append(this.#line);
    chart.addEventListener('pointermove', (event) => this.#moveTo(event));
    chart.addEventListener('pointerdown', (event) => this.#moveTo(event));
    for (const leaving of ['pointerleave', 'blur']) chart.addEventListener(leaving, () => this.#show(null));
    chart.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowLeft' ? -KEY_STEP : event.key === 'ArrowRight' ? KEY_STEP : 0;
      if (step === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#show(Math.min(1, Math.max(0, (this.#at ?? 0.5) + step)));
    });
  }

  /** The chart has changed. */
  draw(): void {
    this.#show(this.#at);
  }

  #moveTo({ clientX }: PointerEvent): void {
    const { left, width } = this.#chart.getBoundingClientRect();
    this.#show((clientX - left) / width);
  }

  #show(at: number | null): void {
    this.#at = at;
    const reading = at === null ? null : this.#read(at);
    this.#text.hidden = reading === null;
    this.#line.toggleAttribute('hidden', reading === null);
    if (reading === null) return;
    const { width, height } = this.#chart.viewBox.baseVal;
    for (const [name, value] of [
      ['x1', reading.at * width],
      ['x2', reading.at * width],
      ['y1', 0],
      ['y2', height],
    ] as const)
      this.#line.setAttribute(name, value.toFixed(1));
    if (this.#text.textContent !== reading.text) this.#text.textContent = reading.text;
  }
}
