import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/** What a message of the feed has that is numbered anew when it is sent once more. */
interface Message {
  readonly type: string;
  readonly key?: string;
  readonly seq?: number;
  readonly prevSeq?: number;
  readonly body?: object;
}

const EVENTS: ReadonlySet<string> = new Set(['POST_QUOTE', 'FILL_QUOTE', 'REMOVE_QUOTE']);
const REPLAYED: ReadonlySet<string> = new Set([...EVENTS, 'ORDERBOOK_UPDATE', 'TICKER', 'RFQ']);
/** The server, too, sends what one commit brought at once. */
const SEND_EVERY_MS = 50;

/** Stands between a page and its server: passes everything on, records the feed, and plays the record again and again. */
export class RecordedFeed {
  readonly url: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #record: { readonly to: WebSocket; readonly message: Message }[] = [];
  /** Number of the last message of each key. */
  readonly #last = new Map<string, number>();
  #seq = 0;
  #isPlaying = false;
  #filters = 0;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** In front of the server at this URL, at a free port. */
  static async start(upstream: string): Promise<RecordedFeed> {
    const server = createServer((request, response) => {
      const { method, headers, url } = request;
      const options = { method, headers: { ...headers, host: new URL(upstream).host } };
      const passed = httpRequest(new URL(url ?? '/', upstream), options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      passed.on('error', () => response.destroy());
      request.pipe(passed);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const feed = new RecordedFeed(server);
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (page, { headers }) => {
      const subprotocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
      const source = new WebSocket(upstream.replace(/^http/, 'ws'), subprotocols);
      const early: string[] = [];
      page.on('message', (data: Buffer) => {
        const text = data.toString();
        if (feed.#isPlaying && (JSON.parse(text) as Message).type === 'FILTER') feed.#filters += 1;
        if (source.readyState === WebSocket.OPEN) source.send(text);
        else early.push(text);
      });
      source.on('open', () => early.forEach((text) => source.send(text)));
      source.on('message', (data: Buffer) => feed.#pass(page, data.toString()));
      for (const [one, other] of [
        [page, source],
        [source, page],
      ] as const) {
        one.on('close', () => other.close());
        one.on('error', () => other.terminate());
      }
    });
    return feed;
  }

  /** Events in the record. */
  get events(): number {
    return this.#record.filter(({ message }) => EVENTS.has(message.type)).length;
  }

  /** Subscriptions that the page has begun again since the record plays: it missed something. */
  get filters(): number {
    return this.#filters;
  }

  /** Plays the record, beginning again at its end, until `stop`, which returns the events of a second. */
  play(eventsPerSecond: number): { readonly stop: () => number } {
    this.#isPlaying = true;
    const beganMs = performance.now();
    let [next, sent] = [0, 0];
    const timer = setInterval(() => {
      const due = ((performance.now() - beganMs) / 1000) * eventsPerSecond;
      while (sent < due) {
        const entry = this.#record[next];
        if (entry === undefined) throw new Error('nothing was recorded');
        next = (next + 1) % this.#record.length;
        if (EVENTS.has(entry.message.type)) sent += 1;
        entry.to.send(JSON.stringify(this.#numbered(entry.message)));
      }
    }, SEND_EVERY_MS);
    return {
      stop: () => {
        clearInterval(timer);
        return (sent * 1000) / (performance.now() - beganMs);
      },
    };
  }

  /** Sends the newest quote of the record once more, as one for so many 1e-18 contracts. */
  quote(size: bigint): void {
    const entry = this.#record.findLast(({ message }) => message.type === 'POST_QUOTE');
    if (entry === undefined) throw new Error('no quote was recorded');
    const body = { ...entry.message.body, size: `${size}`, fillableSize: `${size}` };
    entry.to.send(JSON.stringify({ ...this.#numbered(entry.message), body }));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #numbered(message: Message): object {
    const { key = '' } = message;
    this.#seq += 1;
    const prevSeq = this.#last.get(key) ?? 0;
    this.#last.set(key, this.#seq);
    return { ...message, seq: this.#seq, tsMs: Date.now(), ...('prevSeq' in message && { prevSeq }) };
  }

  #pass(page: WebSocket, text: string): void {
    const message = JSON.parse(text) as Message;
    const { type, key, seq } = message;
    if (type === 'HEARTBEAT' && this.#isPlaying) {
      // The server's books are not what the page has by now.
      page.send(JSON.stringify({ ...message, seq: this.#seq, books: [] }));
      return;
    }
    if (seq !== undefined) this.#seq = Math.max(this.#seq, seq);
    if (key !== undefined && seq !== undefined) this.#last.set(key, seq);
    if (REPLAYED.has(type)) this.#record.push({ to: page, message });
    page.send(text);
  }
}
