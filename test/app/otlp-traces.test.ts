import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import t from 'tap';
import { SpanQueue } from '../../src/app/otlp-traces.js';
import { ManualClock } from '../system/manual-clock.js';

type Done = (result: { readonly code: number; readonly error?: Error }) => void;

function openQueue() {
  const clock = new ManualClock();
  const batches: number[] = [];
  const pending: Done[] = [];
  const counts = { sent: 0, failed: 0, dropped: 0 };
  const exporter: SpanExporter = {
    export(spans, done) {
      batches.push(spans.length);
      pending.push(done);
    },
    shutdown: () => Promise.resolve(),
  };
  const queue = new SpanQueue(
    exporter,
    clock,
    { traceQueue: 5, traceBatch: 3, traceDelayMs: 100 },
    {
      onSent: (count) => (counts.sent += count),
      onFailed: (count) => (counts.failed += count),
      onDropped: () => (counts.dropped += 1),
    },
  );
  const end = (spans: number): void => {
    for (let i = 0; i < spans; i++) queue.onEnd({} as ReadableSpan);
  };
  return { clock, queue, batches, pending, counts, end };
}

t.test('spans wait for others, go in batches one after another, and those beyond the queue are counted', async (t) => {
  const { clock, batches, pending, counts, end } = openQueue();
  end(7);
  t.strictSame([batches, counts.dropped], [[], 2]);
  clock.advance(100);
  t.strictSame(batches, [3]);
  clock.advance(1_000);
  t.strictSame(batches, [3], 'the collector has not answered yet');
  pending.shift()?.({ code: 0 });
  await Promise.resolve();
  await Promise.resolve();
  clock.advance(100);
  t.strictSame([batches, counts.sent], [[3, 2], 3]);
  pending.shift()?.({ code: 1, error: new Error('down') });
  t.equal(counts.failed, 2);
});

t.test('a stop sends what waits and takes nothing more', async (t) => {
  const { queue, batches, pending, counts, end } = openQueue();
  end(2);
  const stopped = queue.shutdown();
  await Promise.resolve();
  pending.shift()?.({ code: 0 });
  await stopped;
  end(1);
  t.strictSame([batches, counts], [[2], { sent: 2, failed: 0, dropped: 1 }]);
});

/** Packages of OpenTelemetry that a new process has loaded after the import of that file. */
async function loadedBy(file: string): Promise<string[]> {
  const url = new URL(`../../src/${file}`, import.meta.url).href;
  const script = `
    import { createRequire } from 'node:module';
    await import(${JSON.stringify(url)});
    console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));
    process.exit();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const files = JSON.parse(stdout) as string[];
  return [...new Set(files.flatMap((each) => /@opentelemetry\/([\w-]+)/.exec(each)?.[1] ?? []))];
}

t.test('the libraries are loaded where traces are on, and nowhere else', async (t) => {
  // The library of the metrics has the interface inside.
  t.strictSame(await loadedBy('main.js'), ['api']);
  t.ok((await loadedBy('app/otlp-traces.js')).includes('sdk-trace'));
});
