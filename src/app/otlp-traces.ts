import { type Context, ROOT_CONTEXT, SpanKind, trace, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type ReadableSpan, type SpanExporter, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Metrics } from '../metrics/metrics.js';
import { PostTraces, type TraceAttributes, type TraceSource, type TraceSpan } from './post-traces.js';
import { TroubleLog } from './trouble-log.js';

export interface TraceLimits {
  /** Quotes of one request that are followed. */
  readonly tracedQuotes: number;
  /** Ended spans that wait to be sent; further ones are dropped. */
  readonly traceQueue: number;
  /** Spans of one request to the collector. */
  readonly traceBatch: number;
  /** How long ended spans wait for others. */
  readonly traceDelayMs: number;
  /** How long the collector may take. */
  readonly traceTimeoutMs: number;
  /** How long no failure may come before a trouble is over, ms (`TroubleLog`). */
  readonly troubleCalmMs: number;
}

export interface TraceOptions {
  /** Where an OpenTelemetry collector takes OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. */
  readonly url: string;
  readonly version: string;
  readonly clock: Clock;
  readonly limits: TraceLimits;
  readonly logger: Logger;
  readonly metrics: Metrics | null;
}

export interface OpenTraces {
  readonly posts: PostTraces;
  /** Sends what waits, for as long as one request may take. */
  close(): Promise<void>;
}

/** Traces that go to an OpenTelemetry collector. Import this file only where they are on: it loads the libraries. */
export function openTraces(options: TraceOptions): OpenTraces {
  const { url, version, clock, limits, logger, metrics } = options;
  const troubles = new TroubleLog(clock, limits.troubleCalmMs);
  const spans = new SpanQueue(new OTLPTraceExporter({ url, timeoutMillis: limits.traceTimeoutMs }), clock, limits, {
    onSent(count) {
      metrics?.traceSpans.labels('sent').inc(count);
      const over = troubles.succeeded('traces');
      if (over !== null) logger.info(over, 'traces sent again');
    },
    onFailed(count, error) {
      metrics?.traceSpans.labels('failed').inc(count);
      if (troubles.failed('traces')) logger.warn({ reason: error.message }, 'traces not sent');
    },
    onDropped: () => metrics?.traceSpans.labels('dropped').inc(),
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'quotebook', 'service.version': version }),
    spanProcessors: [spans],
  });
  const tracer = provider.getTracer('quotebook', version);
  return { posts: new PostTraces(sourceOf(tracer, clock), limits.tracedQuotes), close: () => provider.shutdown() };
}

/** The library reads the wall clock for each span: in whole milliseconds, in which steps would overlap. */
function sourceOf(tracer: Tracer, clock: Clock): TraceSource {
  const startMs = clock.wallMs() - clock.monotonicMs();
  const nowMs = (): number => startMs + clock.monotonicMs();
  const open = (name: string, kind: SpanKind, attributes: TraceAttributes, parent: Context): TraceSpan => {
    const span = tracer.startSpan(name, { kind, startTime: nowMs(), attributes: { ...attributes } }, parent);
    return {
      child: (childName, about = {}) => open(childName, SpanKind.INTERNAL, about, trace.setSpan(ROOT_CONTEXT, span)),
      end(about = {}) {
        if (!span.isRecording()) return;
        span.setAttributes({ ...about });
        span.end(nowMs());
      },
    };
  };
  return { begin: (name, attributes) => open(name, SpanKind.SERVER, attributes, ROOT_CONTEXT) };
}

/** `ExportResultCode` of @opentelemetry/core. */
const SUCCESS = 0;

export interface SpanQueueListener {
  onSent(count: number): void;
  onFailed(count: number, error: Error): void;
  onDropped(): void;
}

/**
 * Ended spans on their way to the collector: one request at a time, with as many spans as a batch may have. The
 * library's own queue does not say how many it drops.
 */
export class SpanQueue implements SpanProcessor {
  #waiting: ReadableSpan[] = [];
  #sending: Promise<void> | null = null;
  #cancelTimer: CancelTimer | null = null;
  #isClosed = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly clock: Pick<Clock, 'after'>,
    private readonly limits: Pick<TraceLimits, 'traceQueue' | 'traceBatch' | 'traceDelayMs'>,
    private readonly listener: SpanQueueListener,
  ) {}

  onStart(): void {
    // A span counts when it has ended.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#isClosed || this.#waiting.length >= this.limits.traceQueue) return this.listener.onDropped();
    this.#waiting.push(span);
    this.#schedule();
  }

  async forceFlush(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0) await this.#send();
  }

  async shutdown(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await this.#sending;
    await this.#send();
    for (let left = this.#waiting.length; left > 0; left--) this.listener.onDropped();
    this.#waiting = [];
    await this.exporter.shutdown();
  }

  #schedule(): void {
    if (this.#isClosed || this.#sending !== null || this.#cancelTimer !== null || this.#waiting.length === 0) return;
    this.#cancelTimer = this.clock.after(this.limits.traceDelayMs, () => {
      this.#cancelTimer = null;
      void this.#send();
    });
  }

  #send(): Promise<void> {
    const batch = this.#waiting.splice(0, this.limits.traceBatch);
    if (batch.length === 0) return Promise.resolve();
    this.#sending = new Promise<void>((resolve) => {
      this.exporter.export(batch, ({ code, error }: { code: number; error?: Error }) => {
        if (code === SUCCESS) this.listener.onSent(batch.length);
        else this.listener.onFailed(batch.length, error ?? new Error('The collector refused the spans'));
        resolve();
      });
    }).then(() => {
      this.#sending = null;
      this.#schedule();
    });
    return this.#sending;
  }
}
