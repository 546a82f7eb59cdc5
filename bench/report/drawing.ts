import type { LatencyCurve } from '../scenario.js';

const WIDTH = 820;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 290;
const TOP = 24;
const BOTTOM = 44;
/** The drawing ends at 99.99 %. */
const NINES = 4;
const MOST = 99.99;
const COLOURS = ['#0b6e99', '#d9480f', '#2b8a3e', '#862e9c', '#5c5f66', '#c2255c', '#0c8599', '#e67700'] as const;

/** Latency by percentile, both axes logarithmic: each further nine has as much room as the one before. */
export function latencyDrawing(curves: readonly LatencyCurve[]): string {
  const micros = curves.flatMap(({ points }) => points.map((point) => point.micros));
  const low = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...micros))));
  const high = 10 ** Math.ceil(Math.log10(Math.max(10 * low, ...micros)));
  const x = (percentile: number): number =>
    LEFT + ((WIDTH - LEFT - RIGHT) * -Math.log10(1 - Math.min(percentile, MOST) / 100)) / NINES;
  const y = (value: number): number =>
    HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * Math.log10(Math.max(value, low) / low)) / Math.log10(high / low);

  const parts: string[] = [];
  for (const percentile of [0, 90, 99, 99.9, 99.99]) {
    parts.push(rule(x(percentile), TOP, x(percentile), HEIGHT - BOTTOM));
    parts.push(words(x(percentile), HEIGHT - BOTTOM + 16, `${percentile} %`, 'middle'));
  }
  for (let value = low; value <= high; value *= 10) {
    parts.push(rule(LEFT, y(value), WIDTH - RIGHT, y(value)));
    parts.push(words(LEFT - 6, y(value) + 4, value < 1000 ? `${value} us` : `${value / 1000} ms`, 'end'));
  }
  for (const [i, { label, points }] of curves.entries()) {
    const colour = COLOURS[i % COLOURS.length] ?? '#000';
    const path = points
      .filter(({ percentile }) => percentile <= MOST)
      .map((point) => `${x(point.percentile).toFixed(1)},${y(point.micros).toFixed(1)}`);
    parts.push(`<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`);
    parts.push(`<text x="${WIDTH - RIGHT + 12}" y="${TOP + 12 + i * 18}" fill="${colour}">${escaped(label)}</text>`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
${parts.join('\n')}
</svg>
`;
}

function rule(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="#ddd"/>`;
}

function words(x: number, y: number, text: string, anchor: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="#555" text-anchor="${anchor}">${text}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
