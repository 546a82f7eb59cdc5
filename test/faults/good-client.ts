import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { build } from 'hdr-histogram-js';
import { WebSocket } from 'ws';
import { assertDocumentedFrame, assertDocumentedText } from '../e2e/documented-answers.js';

/**
 * A client who has done nothing wrong, on a thread of its own so that what the test does beside it does not slow it
 * down: it follows the feed, and asks for quotes at a steady rate whether or not the answers before have come. What it
 * waited counts from the moment a request was due, so that a server that stands still is seen by every request of that
 * time.
 */
export interface GoodClientTask {
  readonly httpUrl: string;
  readonly apiKey: string;
  readonly pathAndQuery: string;
  readonly requestsPerSecond: number;
}

/** What the worker tells of one measurement. */
export interface Measured {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly requests: number;
  /** Answers that were not 200, or none at all. */
  readonly failures: readonly string[];
  readonly feedIsOpen: boolean;
}

const port = parentPort;
if (port === null) throw new Error('This file is run as a worker');
const { httpUrl, apiKey, pathAndQuery, requestsPerSecond } = workerData as GoodClientTask;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

const feed = new WebSocket(httpUrl.replace('http', 'ws'));
await once(feed, 'open');
feed.on('message', (data: Buffer) => assertDocumentedFrame(JSON.parse(data.toString()), 'plain'));
feed.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
await once(feed, 'message');
port.on('message', (durationMs: number) => void measure(durationMs).then((measured) => port.postMessage(measured)));
// The first answer is not measured: the check of what is documented is made ready with it.
await ask();
port.postMessage('ready');

function ask(): Promise<number> {
  return new Promise((resolve, reject) => {
    get(httpUrl + pathAndQuery, { agent, headers: { 'x-apikey': apiKey } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => {
        const [status, type] = [response.statusCode ?? 0, response.headers['content-type'] ?? ''];
        assertDocumentedText({ method: 'GET', target: pathAndQuery, status, type, text });
        resolve(status);
      });
    }).once('error', reject);
  });
}

async function measure(durationMs: number): Promise<Measured> {
  const histogram = build({ highestTrackableValue: 60_000_000 });
  const failures: string[] = [];
  const startMs = performance.now();
  const count = Math.floor((durationMs / 1000) * requestsPerSecond);
  const asked = Array.from({ length: count }, async (_, i) => {
    const dueMs = startMs + (i * 1000) / requestsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()));
    // A timer may ring up to a millisecond early: what was not waited for is not counted, and takes nothing off the
    // rest.
    const fromMs = Math.min(dueMs, performance.now());
    try {
      const status = await ask();
      if (status !== 200) failures.push(String(status));
    } catch (error) {
      failures.push(String(error));
    }
    histogram.recordValue(Math.max(1, Math.round((performance.now() - fromMs) * 1000)));
  });
  await Promise.all(asked);
  return {
    p50Ms: histogram.getValueAtPercentile(50) / 1000,
    p99Ms: histogram.getValueAtPercentile(99) / 1000,
    requests: count,
    failures,
    feedIsOpen: feed.readyState === feed.OPEN,
  };
}
