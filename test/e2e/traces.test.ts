import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import t from 'tap';
import { openTraces, type OpenTraces } from '../../src/app/otlp-traces.js';
import { limits } from '../../src/config/limits.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { systemClock } from '../../src/system/clock.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

/** A span as OTLP has it in JSON. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { intValue?: number; stringValue?: string } }[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface Collector {
  readonly url: string;
  readonly spans: readonly OtlpSpan[];
  /** Values of service.name. */
  readonly services: readonly string[];
  /** Values of the header authorization. */
  readonly tokens: ReadonlySet<unknown>;
}

/** Takes OTLP over HTTP, as a collector does. */
async function startCollector(status = 200): Promise<Collector> {
  const spans: OtlpSpan[] = [];
  const services: string[] = [];
  const tokens = new Set<unknown>();
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    tokens.add(request.headers.authorization);
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') return response.writeHead(404).end();
      const body = JSON.parse(Buffer.concat(pieces).toString()) as OtlpRequest;
      for (const { resource, scopeSpans } of body.resourceSpans) {
        services.push(
          ...resource.attributes.flatMap(({ key, value }) => (key === 'service.name' ? [value.stringValue ?? ''] : [])),
        );
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      return response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, spans, services, tokens };
}

function open(url: string, metrics: Metrics | null = null): OpenTraces {
  return openTraces({ url, version: '0.0.0', clock: systemClock, limits, logger: pino({ level: 'silent' }), metrics });
}

await t.test('one POST /quotes is one trace from the request to the push', async (t) => {
  const collector = await startCollector();
  process.env.OTEL_EXPORTER_OTLP_HEADERS = 'authorization=token';
  t.teardown(() => delete process.env.OTEL_EXPORTER_OTLP_HEADERS);
  const metrics = new Metrics();
  const traces = open(collector.url, metrics);
  const running = await startTestService({ traces: traces.posts });
  t.teardown(() => running.stop());
  const { chain, httpUrl, wsUrl, apiKey } = running;
  const [pool] = chain.pools;
  const [, maker] = chain.accounts;
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
  const socket = await SocketClient.open(wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613', poolAddress: pool.poolAddress } });

  const rest = new RestClient(httpUrl, apiKey);
  const posted = await rest.post('/quotes', [await signQuote(maker.privateKey, pool, { price: ONE / 10n, size: ONE })]);
  t.equal(posted.status, 201);
  t.match(await socket.next(), { type: 'POST_QUOTE' });
  t.equal((await rest.get('/health')).status, 200, 'other routes are not traced');
  await traces.close();

  const { spans } = collector;
  t.strictSame([...new Set(collector.services)], ['quotebook']);
  t.strictSame([...collector.tokens], ['token'], 'with the header of the environment');
  t.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const paths = spans.map((span) => {
    const names = [span.name];
    for (let at: OtlpSpan | undefined = span; at?.parentSpanId; at = byId.get(at.parentSpanId)) {
      names.unshift(byId.get(at.parentSpanId)?.name ?? 'a parent that was not sent');
    }
    return names.join(' > ');
  });
  t.strictSame(paths.sort(), [
    'POST /quotes',
    'POST /quotes > apply command',
    'POST /quotes > check quotes',
    'POST /quotes > check quotes > ask the pools',
    'POST /quotes > check quotes > verify signatures',
    'POST /quotes > commit record',
    'POST /quotes > publish transaction',
    'POST /quotes > publish transaction > await receipt',
    'POST /quotes > publish transaction > send transaction',
    'POST /quotes > push',
    'POST /quotes > read event',
  ]);
  const named = (name: string): OtlpSpan => {
    const found = spans.find((span) => span.name === name);
    if (found === undefined) throw new Error(`There is no span ${name}`);
    return found;
  };
  const order = ['check quotes', 'send transaction', 'read event', 'commit record', 'push', 'POST /quotes'].map(named);
  const ends = order.map(({ endTimeUnixNano }) => BigInt(endTimeUnixNano));
  t.strictSame(
    ends,
    [...ends].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    'the steps end in their order',
  );
  t.ok(spans.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)));
  const root = named('POST /quotes');
  t.equal(root.kind, 2, 'a server span');
  t.match(Object.fromEntries(root.attributes.map(({ key, value }) => [key, value.intValue ?? value.stringValue])), {
    'http.route': '/quotes',
    'http.response.status_code': 201,
  });
  t.match(await metrics.text(), new RegExp(`quotebook_trace_spans_total\\{outcome="sent"\\} ${spans.length}\n`));
});

await t.test('requests have traces of their own, and quotes beyond the limit are not followed', async (t) => {
  const collector = await startCollector();
  const traces = open(collector.url);
  const running = await startTestService({ traces: traces.posts });
  t.teardown(() => running.stop());
  const [pool] = running.chain.pools;
  const [, maker] = running.chain.accounts;
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
  const rest = new RestClient(running.httpUrl, running.apiKey);
  const batch = await Promise.all(
    Array.from({ length: limits.tracedQuotes + 3 }, (_, i) =>
      signQuote(maker.privateKey, pool, { price: ONE / BigInt(i + 10), size: ONE / 1_000n }),
    ),
  );
  const single = await signQuote(maker.privateKey, pool, { price: ONE / 5n, size: ONE / 1_000n });
  const answers = await Promise.all([rest.post('/quotes', batch), rest.post('/quotes', [single])]);
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201],
  );
  t.equal((await rest.post('/quotes', [{ ...single, price: '1' }])).status, 200, 'its signature is wrong');
  await traces.close();

  const roots = collector.spans.filter(({ name }) => name === 'POST /quotes');
  t.equal(new Set(roots.map(({ traceId }) => traceId)).size, 3);
  const pushesOf = roots.map(
    ({ traceId }) => collector.spans.filter((span) => span.traceId === traceId && span.name === 'push').length,
  );
  t.strictSame(
    pushesOf.sort((a, b) => a - b),
    [0, 1, limits.tracedQuotes],
  );
});

await t.test('a collector that refuses costs spans, which are counted, and no request', async (t) => {
  const collector = await startCollector(400);
  const metrics = new Metrics();
  const traces = open(collector.url, metrics);
  const running = await startTestService({ traces: traces.posts });
  t.teardown(() => running.stop());
  const rest = new RestClient(running.httpUrl, running.apiKey);
  t.equal((await rest.post('/quotes', [])).status, 400);
  await traces.close();
  t.match(await metrics.text(), 'quotebook_trace_spans_total{outcome="failed"} 1\n');
});
