import type { Hex } from 'viem';
import { ApiError, RefusedError } from '../client/errors.js';
import type { BaseOrderbookClient } from '../client/orderbook-client.js';
import { systemClock } from '../system/clock.js';
import type { InstrumentJson } from '../wire/options.js';
import type { OrderbookQuote } from '../wire/orderbook.js';
import { parseFlags, type ParsedWords } from './flags.js';
import { type CliCommand, type CommandIo, UsageError } from './run.js';

/** Of a local set-up, in the directory where it was started. */
const READY_FILE = 'data/ready.json';
/** How long the feed may take to be live. */
const LIVE_WITHIN_MS = 10_000;
const WITHDRAWN_PAGE = 1_000;
/** Prices and sizes count in 10^-18. */
export const DECIMALS = 18;

export const connectionHelp = `  --url
      Of the service, such as http://127.0.0.1:8080. Default: that of --ready.
  --api-key
      A key of that service; the variable QUOTEBOOK_API_KEY is safer. Default: that of --ready.
  --chain-id
      Of the settlement chain. Default: that of --ready.
  --ready
      Ready file of a local set-up. Default: ${READY_FILE}; none with --url.
  --json
      Print JSON, one value a line.`;

export const CONNECTION_FLAGS = {
  url: 'value',
  'api-key': 'value',
  'chain-id': 'value',
  ready: 'value',
  json: 'switch',
  help: 'switch',
} as const;

interface Target {
  readonly url: string;
  readonly apiKey: string;
  readonly chainId: string;
  /** Content of the ready file of a local set-up; empty otherwise. */
  readonly ready: Readonly<Record<string, unknown>>;
}

/**
 * The target that the flags and the environment name, and for the rest the ready file of a local set-up. Next to --url
 * the file has to be named: the key and the chain of one service are of no use at another, and must not be sent there.
 */
export async function targetOf({ values }: ParsedWords, io: CommandIo): Promise<Target> {
  const isRead = values.has('ready') || !values.has('url');
  const file = values.get('ready') ?? READY_FILE;
  const text = isRead ? await io.readText(file).catch(() => null) : null;
  const ready = text === null ? {} : readyContent(text);
  const pick = (flag: string, field: string, variable?: string): string => {
    const given = values.get(flag) ?? (variable === undefined ? undefined : io.environment[variable]) ?? ready[field];
    if (typeof given === 'string' || typeof given === 'number') return String(given);
    if (!isRead) throw new UsageError(`name --${flag}, too, or the ready file of the service with --ready`);
    const lack = text === null ? `there is no ${file}` : `${file} has no ${field}`;
    throw new UsageError(`${lack}: name the service with --url, --api-key and --chain-id`);
  };
  return {
    url: pick('url', 'httpUrl'),
    apiKey: pick('api-key', 'apiKey', 'QUOTEBOOK_API_KEY'),
    chainId: pick('chain-id', 'chainId'),
    ready,
  };
}

/** A cluster's file has several gateways: any of them will do. */
function readyContent(text: string): Target['ready'] {
  const content = JSON.parse(text) as Target['ready'] & { readonly gateways?: readonly Target['ready'][] };
  return { ...content, ...content.gateways?.[0] };
}

export interface TerminalSession extends ParsedWords {
  readonly client: BaseOrderbookClient;
  readonly isJson: boolean;
  readonly target: Target;
  readonly io: CommandIo;
}

/** A command that speaks to a running service through the client library. `switches`: flags without a value. */
export function terminalCommand(
  name: string,
  summary: string,
  {
    usage,
    more = {},
    switches = [],
    about,
  }: { usage: string; more?: Readonly<Record<string, string>>; switches?: readonly string[]; about: string },
  run: (session: TerminalSession) => Promise<number>,
): CliCommand {
  const flags = Object.entries(more).map(([flag, text]) => `  --${flag}\n      ${text}`);
  return {
    name,
    summary,
    help: [usage, '', about, '', ...flags, connectionHelp].join('\n'),
    async run(words, io) {
      const own = Object.keys(more).map((flag) => [flag, switches.includes(flag) ? 'switch' : 'value'] as const);
      const known = { ...CONNECTION_FLAGS, ...Object.fromEntries(own) };
      const parsed = parseFlags(words, known);
      const target = await targetOf(parsed, io);
      const { OrderbookClient } = await import('../client/node.js');
      const client = new OrderbookClient(target);
      try {
        return await run({ ...parsed, client, isJson: parsed.switches.has('json'), target, io });
      } catch (error) {
        const isRefusal = error instanceof ApiError || error instanceof RefusedError;
        throw isRefusal ? new Error(refusalText(error, target)) : error;
      } finally {
        client.close();
      }
    },
  };
}

/** A refusal of the service in the terms of the command line, with its remedy. */
export function refusalText(
  error: ApiError | RefusedError,
  { url, chainId }: { readonly url: string; readonly chainId: string },
): string {
  const { code, message, retryAfterMs } = error;
  if (code === 'api_key_missing' || code === 'api_key_unknown')
    return `${url} does not know this API key: name another with --api-key or QUOTEBOOK_API_KEY`;
  if (code === 'unsupported_chain' || /\bchainId must /.test(message))
    return `${url} serves no chain ${chainId}: name its settlement chain, 42161 or 421613, with --chain-id`;
  if (code === 'sign_in_rejected') return `${message}: name one of these with --sign-in-domain`;
  const says =
    code === 'rate_limited' && message === 'RATELIMITED' ? 'A quota of the key or of the address is used up' : message;
  if (retryAfterMs === null) return code === 'rate_limited' ? `${says}: try again later` : says;
  return `${says}: try again in ${Math.ceil(retryAfterMs / 1000)} s`;
}

export async function findInstrument(client: BaseOrderbookClient, name: string): Promise<InstrumentJson> {
  const instruments = await client.rest.instruments();
  const wanted = instrumentName(name).toLowerCase();
  const found = instruments.find(
    ({ instrument, poolAddress }) => instrument.toLowerCase() === wanted || poolAddress === wanted,
  );
  if (found === undefined) throw new UsageError(`there is no option ${name}: \`quotebook chain\` lists them`);
  return found;
}

/** The name of an option that a position's name stands for: this has four digits of the year. */
export function instrumentName(position: string): string {
  return position.replace(/^(.+-\d{2}[A-Z]{3})\d{2}(\d{2}-[^-]+-[CP])$/i, '$1$2');
}

/** All pages of a provider's withdrawn quotes, of every pool or one. */
export async function withdrawnOf(
  { rest }: Pick<BaseOrderbookClient, 'rest'>,
  filter: { readonly provider: Hex; readonly poolAddress?: Hex },
): Promise<OrderbookQuote[]> {
  const all: OrderbookQuote[] = [];
  for (let cursor: Hex | null | undefined; cursor !== null;) {
    const page = { ...filter, limit: WITHDRAWN_PAGE, ...(cursor !== undefined && { cursor }) };
    const { quotes, next } = await rest.withdrawnQuotes(page);
    all.push(...quotes);
    cursor = next;
  }
  return all;
}

export function isAddress(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

export function decimalText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

export async function liveInTime(live: Promise<void>): Promise<void> {
  let cancel = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Error('The service does not answer on its WebSocket'));
    cancel = systemClock.after(LIVE_WITHIN_MS, fail);
  });
  await Promise.race([live, late]).finally(cancel);
}
