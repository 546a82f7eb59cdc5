import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { build, type Histogram } from 'hdr-histogram-js';
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
  /** Of a server that does nothing else: what is waited for its answers is the machine's and this client's own share. */
  readonly idleUrl: string;
}

/** What the worker tells of one measurement. */
export interface Measured {
  readonly p99Ms: number;
  /** Of the answers of the server that does nothing else, in the same time. */
  readonly idleP99Ms: number;
  /** Answers that were not 200, or none at all. */
  readonly failures: readonly string[];
  readonly feedIsOpen: boolean;
}

const port = parentPort;
if (port === null) throw new Error('This file is run as a worker');
const { httpUrl, apiKey, pathAndQuery, requestsPerSecond, idleUrl } = workerData as GoodClientTask;
const IDLE_REQUESTS_PER_SECOND = 100;
/**
 * Closed before a server would close it, which no client can tell from a lost connection: those of Node do so after 5 s,
 * uWebSockets.js after 10 s.
 */
const UNUSED_SOCKET_MS = 2_000;
const agent = new Agent({ keepAlive: true, maxSockets: 8, timeout: UNUSED_SOCKET_MS });

const feed = new WebSocket(httpUrl.replace('http', 'ws'));
await once(feed, 'open');
feed.on('message', (data: Buffer) => assertDocumentedFrame(JSON.parse(data.toString()), 'plain'));
feed.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
await once(feed, 'message');
port.on('message', (durationMs: number) => void measure(durationMs).then((measured) => port.postMessage(measured)));
// The first answer is not measured: the check of what is documented is made ready with it.
await ask();
port.postMessage('ready');

/** Gives the status. */
async function ask(): Promise<number> {
  const { status, type, text } = await answer(httpUrl + pathAndQuery);
  assertDocumentedText({ method: 'GET', target: pathAndQuery, status, type, text });
  return status;
}

function answer(url: string): Promise<{ status: number; type: string; text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'x-apikey': apiKey } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      const [status, type] = [response.statusCode ?? 0, response.headers['content-type'] ?? ''];
      response.once('end', () => resolve({ status, type, text }));
    }).once('error', reject);
  });
}

async function measure(durationMs: number): Promise<Measured> {
  const failures: string[] = [];
  const [service, idle] = await Promise.all([
    steadily(durationMs, requestsPerSecond, async () => {
      try {
        const status = await ask();
        if (status !== 200) failures.push(String(status));
      } catch (error) {
        failures.push(String(error));
      }
    }),
    steadily(durationMs, IDLE_REQUESTS_PER_SECOND, () => answer(idleUrl)),
  ]);
  return {
    p99Ms: service.getValueAtPercentile(99) / 1000,
    idleP99Ms: idle.getValueAtPercentile(99) / 1000,
    failures,
    feedIsOpen: feed.readyState === feed.OPEN,
  };
}

/** Gives what was waited from when each call was due until it was done, microseconds. */
async function steadily(durationMs: number, perSecond: number, call: () => Promise<unknown>): Promise<Histogram> {
  const histogram = build({ highestTrackableValue: 60_000_000 });
  const startMs = performance.now();
  const calls = Array.from({ length: Math.floor((durationMs / 1000) * perSecond) }, async (_, i) => {
    const dueMs = startMs + (i * 1000) / perSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    // A timer may ring up to a millisecond early: what was not waited for is not counted, and takes nothing off the
    // rest.
    const fromMs = Math.min(dueMs, performance.now());
    await call();
    histogram.recordValue(Math.max(1, Math.round((performance.now() - fromMs) * 1000)));
  });
  await Promise.all(calls);
  return histogram;
}
