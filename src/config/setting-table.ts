import Type, { type Static, type TSchema } from 'typebox';
import { PRIVACIES } from '../auth/taker-access.js';
import { checksumAddress } from '../chain/contracts/deployments.js';
import type { Hex } from '../engine/quote.js';
import { readNetwork } from '../net/trusted-proxies.js';
import { limits, tierQuotas } from './limits.js';

type Tier = keyof typeof tierQuotas;
export type QuotaName = keyof (typeof tierQuotas)[Tier];

/** The meaning of each quota, in the words of the documentation. */
const about: Readonly<Record<QuotaName, string>> = {
  requestsPerSecond: 'Requests in a second',
  quotesPerMinute: 'Quotes posted in a minute',
  quoteBurst: 'Quotes posted at once after a pause, and so in one request',
  quotesPerDay: 'Quotes published in 24 hours',
  gasPerDay: 'Gas that their publication, deployments and settlements cost the operator in 24 hours',
  connections: 'WebSockets open at once',
  channels: 'Channels followed at once over all sockets',
  messagesPerSecond: 'WebSocket messages sent in a second',
  rfqsPerMinute: 'Requests for quotes in a minute, each leg for itself',
  rowsPerSecond: 'Quotes, events and levels in large answers, snapshots and replays in a second',
  answerBytesPerSecond: 'Bytes of large answers, snapshots and replays in a second',
  answersWaiting: 'Large answers that wait while another one is made',
};

/** Upper bounds of settings that exceed the usual one. */
const MOST: Readonly<Partial<Record<QuotaName, number>>> = {
  gasPerDay: 1_000_000_000_000_000,
  answerBytesPerSecond: 1_000_000_000_000,
};

/** Lower bounds of settings that are not 1. A request for quotes may have 8 legs. */
const LEAST: Readonly<Partial<Record<QuotaName, number>>> = { gasPerDay: 0, rfqsPerMinute: 8 };

export type TierSettingName<T extends Tier> = `${T}${Capitalize<QuotaName>}`;

/** `('free', 'quoteBurst')` -> `freeQuoteBurst` */
export function tierSettingName<T extends Tier>(tier: T, quota: QuotaName): TierSettingName<T> {
  return `${tier}${quota.charAt(0).toUpperCase()}${quota.slice(1)}` as TierSettingName<T>;
}

/** One setting for each quota of a tier. */
function tierSettings<T extends Tier>(tier: T): Readonly<Record<TierSettingName<T>, ReturnType<typeof integer>>> {
  const quotas = Object.keys(about) as QuotaName[];
  const entries = quotas.map((quota) => [
    tierSettingName(tier, quota),
    integer(
      LEAST[quota] ?? 1,
      MOST[quota] ?? 1_000_000_000,
      tierQuotas[tier][quota],
      `${about[quota]}, of each key of the ${tier} tier.`,
    ),
  ]);
  return Object.fromEntries(entries) as Record<TierSettingName<T>, ReturnType<typeof integer>>;
}

const tiers = Object.keys(tierQuotas) as Tier[];
const names: ReadonlySet<string> = new Set(tiers.flatMap((tier) => Object.keys(tierSettings(tier))));

/** These take effect while the service runs; others at its next start. */
export function isTierSetting(name: string): boolean {
  return names.has(name);
}

function rpcUrls(chain: string) {
  return setting(
    Type.Array(Type.String({ pattern: '^https?://[^\\s,]+$' }), { minItems: 1, maxItems: 10 }),
    null,
    '1 to 10 http(s) URLs, separated by commas',
    `JSON-RPC endpoints of the ${chain} chain, the preferred one first, in place of the profile's.`,
    { secret: 'url', isRight: isUrl },
  );
}

function wsUrl(chain: string) {
  return setting(
    Type.String({ pattern: '^wss?://\\S+$' }),
    null,
    'a ws(s) URL',
    `WebSocket endpoint of the ${chain} chain whose new heads wake the reader, in place of the profile's.`,
    { secret: 'url', isRight: isUrl },
  );
}

/** With no space or line end around it: one that a file of variables left there would name another directory. */
const path = Type.String({ pattern: '^\\S(.*\\S)?$' });
const address = Type.String({ pattern: '^\\S+$' });

/** Every setting there is. The name gives the key in the settings file, the flag and the environment variable. */
export const settingTable = {
  profile: setting(
    path,
    'local',
    '`local`, `arbitrum`, `arbitrum-goerli` or the path of a profile file',
    'Which deployment of the protocol is served: a built-in profile, or a file of your own.',
  ),
  host: setting(address, '127.0.0.1', 'an address of this machine', 'Address to listen on.'),
  port: integer(0, 65_535, 8080, 'Port of HTTP and WebSocket; 0 picks a free one.'),
  containerPort: setting(
    Type.Integer({ minimum: 0, maximum: 65_535 }),
    null,
    'a whole number from 0 to 65535',
    "Port of a second listener for clients of the protocol's public container: the same routes, and at `/` the readable WebSocket; 0 picks a free one. Not set: there is none.",
  ),
  metricsPort: setting(
    Type.Integer({ minimum: 0, maximum: 65_535 }),
    null,
    'a whole number from 0 to 65535',
    'Port of GET /metrics in the format of Prometheus; 0 picks a free one. Without it nothing is measured.',
  ),
  metricsHost: setting(
    address,
    '127.0.0.1',
    'an address of this machine',
    'Address that /metrics listens on; it asks for no key.',
  ),
  otlpTracesUrl: setting(
    Type.String({ pattern: '^https?://\\S+$' }),
    null,
    'an http(s) URL such as http://127.0.0.1:4318/v1/traces',
    'Where an OpenTelemetry collector takes traces (OTLP over HTTP, JSON): each POST /quotes is followed from the request to the push. Not set: nothing is traced. Role `all` alone.',
    { secret: 'url', isRight: isUrl },
  ),
  dataDir: setting(path, 'data', 'a path', 'Directory of the log and the API keys; made when it is absent.'),
  readyFile: setting(
    path,
    null,
    'a path',
    'File that is written once the service is ready, and removed when it starts: its URLs, and on the local chain all that a script needs. Not set: `ready.json` in `dataDir` on the local chain, else none.',
  ),
  logLevel: oneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'info',
    'Least important lines that the text log shows.',
  ),
  logFormat: oneOf(
    ['auto', 'pretty', 'json'],
    'auto',
    'Form of the text log; `auto` is pretty in a terminal, else JSON.',
  ),
  netBackend: oneOf(
    ['auto', 'uWebSockets.js', 'node'],
    'auto',
    'Network library; `auto` takes uWebSockets.js where its native module loads, else `node:http` and ws.',
  ),
  uwsPath: setting(
    path,
    null,
    'a path',
    "The uWebSockets.js to load: its package's directory or its `.node` file; the start fails where it does not load. " +
      'Not set: the first that loads of an installed `uWebSockets.js`, the packaged 20.57 and the packaged 20.30.',
  ),
  walletKey: setting(
    Type.String({ pattern: '^(0x)?[0-9a-fA-F]{64}$' }),
    null,
    '32 bytes in hex',
    "Private key of the operator's wallet, which pays for publications. Without one the service reads and does not publish.",
    { secret: 'all', flag: false },
  ),
  walletKeyFile: setting(path, null, 'a path', 'File that holds the private key, in place of `walletKey`.'),
  walletSpendPerDayGwei: setting(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000_000_000 }),
    null,
    'a whole number of gwei (1e-9 of a coin)',
    'What the wallet may spend on gas in 24 hours, on each chain: once it has paid so much, nothing more is sent. ' +
      'What is under way by then, at most `txInFlight` transactions, is still paid for. Not set: no cap.',
  ),
  operatorRouteGasPerDay: integer(
    1,
    1_000_000_000_000,
    limits.operatorRouteGasPerDay,
    'Gas that each route for keys with the scope operator may use in 24 hours, for all keys together.',
  ),
  operatorGasPerDay: integer(
    1,
    1_000_000_000_000,
    limits.operatorGasPerDay,
    'Gas that all these routes together may use in 24 hours.',
  ),
  operatorTokensPerDay: setting(
    Type.Array(Type.String({ pattern: '^[^=,\\s]+=[0-9]+([.][0-9]+)?$' }), { maxItems: 100 }),
    [] as readonly string[],
    'amounts such as USDC=50000, separated by commas',
    'Most whole tokens that fills and trades with vaults, for keys with the scope operator, pay in 24 hours. ' +
      'A token that is not named has no cap. Quotes that such a key signs do not count when others fill them.',
  ),
  operatorReferrer: setting(
    Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
    null,
    'an address in one letter case, or with its EIP-55 checksum',
    'Referrer that these fills and trades name. Not set: none.',
    { isRight: (text) => !isMistyped(text) },
  ),
  settlementRpcUrls: rpcUrls('settlement'),
  streamRpcUrls: rpcUrls('stream'),
  settlementWsUrl: wsUrl('settlement'),
  streamWsUrl: wsUrl('stream'),
  corsOrigins: setting(
    // As browsers write them (HTML, "ASCII serialization of an origin"): no other text is ever one of theirs.
    Type.Array(Type.String({ pattern: '^([*]|https?://([a-z0-9._-]+|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?)$' }), {
      maxItems: 100,
    }),
    ['*'] as readonly string[],
    'origins such as https://example.org, separated by commas, or *',
    'Pages that may read answers in a browser, and open sockets; the page at `/` always may.',
  ),
  privacy: oneOf(
    [...PRIVACIES],
    'open',
    'Who sees private quotes and requests for quotes: every key that names the taker (`open`), or keys and sessions that have proven its address (`proven`).',
  ),
  signInDomains: setting(
    Type.Array(Type.String({ pattern: '^[a-z0-9.-]+(:[0-9]{1,5})?$' }), { maxItems: 100 }),
    [] as readonly string[],
    'hosts such as book.example.org or localhost:8080, separated by commas',
    'Hosts, with the port that browsers show, that people sign in at. Not set: `localhost` and 127.0.0.1 alone, with any port.',
  ),
  selfService: oneOf(
    ['no', 'yes'],
    'no',
    'Whether everyone who signs in with an address gets an API key of the self tier for it (`POST /auth/keys`).',
  ),
  selfKeys: integer(1, 3_000, limits.selfKeys, 'API keys of the self tier that are in force at once.'),
  selfKeysPerNetwork: integer(
    1,
    3_000,
    limits.selfKeysPerNetwork,
    'Of those: keys that were created from one IPv4 address, or from one /64 of IPv6.',
  ),
  selfKeyUnusedDays: integer(
    2,
    3_650,
    limits.selfKeyUnusedDays,
    'Days without a request after which a key of the self tier expires.',
  ),
  trustedProxies: setting(
    Type.Array(address, { maxItems: 100 }),
    [] as readonly string[],
    'addresses or networks such as 10.0.0.0/8, separated by commas',
    'Proxies whose `X-Forwarded-For` is believed: the client is the rightmost address in it that is none of them. ' +
      'Limits by address then hold for each client.',
    { isRight: (text) => readNetwork(text) !== null },
  ),
  sync: setting(
    Type.String({ pattern: '^(always|never|interval\\([1-9][0-9]{0,5}\\))$' }),
    'always',
    'always, never or interval(MILLISECONDS)',
    'When the log is synced: before every answer and push (`always`), at an interval, or when the operating system does.',
  ),
  lowWaterBytes: setting(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    null,
    'a whole number of bytes',
    'Room that is to stay free on the volume of the log: below it writes are refused. Not set: the smaller of 256 MiB and 5 %.',
  ),
  retainLogBytes: setting(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    null,
    'a whole number of bytes',
    'How much of the log stays that no kept snapshot needs. Not set: all of it.',
  ),
  pastSnapshots: integer(
    0,
    1_000,
    4,
    'Snapshots that stay beyond the two that a start needs: answers about the past go back to the oldest of them. Each takes about 300 bytes for each quote on the disk.',
  ),
  tradeDays: integer(
    1,
    3_650,
    limits.tradeDays,
    'Days that trades are kept for GET /trades and GET /candles, in files of their own; what is older answers 410.',
  ),
  tradesKept: integer(
    1_000,
    10_000_000,
    limits.tradesKept,
    'Trades that are kept in memory, the newest; each takes about 500 bytes. GET /trades reads older ones from their files.',
  ),
  stateHashEveryRecords: integer(
    1,
    1_000_000_000,
    limits.stateHashEveryRecords,
    "Records between two sums of the engine's state in the log, which the next start holds its own against.",
  ),
  reorgDepth: integer(
    1,
    10_000,
    limits.reorgDepth,
    'Blocks that a chain may take back; a deeper reorg stops its reader.',
  ),
  acceptDeepReorg: setting(
    Type.String({ pattern: '^[0-9a-f]{16}$' }),
    null,
    'the 16 hex digits that the refused start names',
    'After a deeper reorg: the epoch of the log that is to be put aside; the chains are then read anew. Later logs have another epoch.',
  ),
  acceptMissing: setting(
    Type.String({ pattern: '^[a-z0-9.-]+(,[a-z0-9.-]+)*$' }),
    null,
    'the names that the refused start says, with commas between',
    'After the loss of files that are kept beside the log, or of `keys.json`: those without which this start goes on. Their budgets, intents or keys are gone.',
  ),
  publishTimeoutMs: integer(
    100,
    600_000,
    limits.publishTimeoutMs,
    'Milliseconds that POST /quotes waits for its events; then what is not there is reported as pending.',
  ),
  minQuoteLifeSeconds: integer(0, 86_400, limits.minQuoteLifeSeconds, 'Shortest time to live of a quote posted here.'),
  maxTxBytes: integer(2_000, 1_000_000, limits.maxTxBytes, 'Calldata of one publish transaction, in bytes.'),
  maxFeeGwei: integer(
    1,
    1_000_000,
    limits.maxFeeGwei,
    'Most that a transaction of the wallet offers for a unit of gas, in gwei: where an endpoint asks for more, it waits.',
  ),
  wsAuthDeadlineMs: integer(
    100,
    3_600_000,
    limits.wsAuthDeadlineMs,
    'Milliseconds that a WebSocket may stay open without AUTH.',
  ),
  httpConnections: integer(1, 1_000_000, limits.httpConnections, 'HTTP connections open at once, in all.'),
  httpConnectionsPerAddress: integer(
    1,
    1_000_000,
    limits.httpConnectionsPerAddress,
    'HTTP connections open at once from one address, or one IPv6 network of 64 bits.',
  ),
  wsConnections: integer(1, 1_000_000, limits.wsConnections, 'WebSockets open at once, in all.'),
  wsConnectionsPerAddress: integer(
    1,
    1_000_000,
    limits.wsConnectionsPerAddress,
    'WebSockets open at once from one address, or one IPv6 network of 64 bits; behind a proxy that is not among `trustedProxies` all come from one.',
  ),
  role: oneOf(
    ['all', 'engine', 'gateway'],
    'all',
    'What this process is: the whole service, or an engine or a gateway of a cluster.',
  ),
  cluster: setting(
    Type.Array(Type.String({ pattern: '^(nats|tls)://[^\\s,]+$' }), { minItems: 1, maxItems: 10 }),
    null,
    '1 to 10 nats or tls URLs, separated by commas',
    'NATS servers that hold the log of a cluster.',
    { secret: 'url', isRight: isUrl },
  ),
  clusterMonitors: setting(
    Type.Array(Type.String({ pattern: '^https?://[^\\s,]+$' }), { maxItems: 10 }),
    [] as readonly string[],
    'http(s) URLs, separated by commas',
    'Monitoring ports of these servers, where an engine reads at its start that they sync before they acknowledge.',
    { secret: 'url', isRight: isUrl },
  ),
  clusterMember: setting(
    Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }),
    null,
    'up to 64 letters, digits, `_`, `.` and `-`',
    'Name of this process among the members. Not set: its role, host and process id.',
  ),
  clusterUser: setting(address, null, 'a name', 'User that this process connects to NATS as.'),
  clusterPassword: setting(address, null, 'a password', 'Password of that user.', { secret: 'all', flag: false }),
  clusterNkeyFile: setting(path, null, 'a path', 'File with the seed of an nkey, in place of user and password.'),
  clusterCaFile: setting(
    path,
    null,
    'a path',
    "CA certificates in PEM that the NATS servers' certificates are checked by.",
  ),
  clusterUnsafe: oneOf(
    ['no', 'yes'],
    'no',
    'For development alone: `yes` accepts servers that lose acknowledged records in a power cut, and one replica.',
  ),
  blockTime: setting(
    Type.Integer({ minimum: 1, maximum: 3_600 }),
    null,
    'a whole number of seconds from 1 to 3600',
    'Of the local chain: seconds between two blocks. Not set: each transaction has a block at once.',
  ),
  liveMarket: setting(
    Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
    null,
    'a whole number from 0 to 4294967295, the seed; the flag alone takes 1',
    'Of the local chain: prices and volatilities move a little every two seconds, by a walk that the seed determines. Not set: they stand still.',
    { flagAlone: '1' },
  ),
  ...tierSettings('free'),
  ...tierSettings('paid'),
  ...tierSettings('self'),
  unknownKeysPerMinute: integer(
    1,
    1_000_000,
    limits.unknownKeysPerMinute,
    'Unknown API keys that an address may send in a minute before it is refused.',
  ),
  unknownKeyBanMs: integer(
    1_000,
    86_400_000,
    limits.unknownKeyBanMs,
    'Milliseconds that such an address is refused; a key that holds is never refused.',
  ),
} as const;

export type SettingName = keyof typeof settingTable;

/** Those that a command needs which works on a cluster. */
export const CLUSTER_SETTINGS = [
  'profile',
  'cluster',
  'clusterMonitors',
  'clusterUser',
  'clusterPassword',
  'clusterNkeyFile',
  'clusterCaFile',
  'clusterUnsafe',
] as const satisfies readonly SettingName[];

export const settingNames = Object.keys(settingTable) as SettingName[];

type ValueOf<T> = T extends Setting<infer S, infer D> ? Static<S> | (D extends null ? null : never) : never;

/** All settings, checked. Null: not set, and there is no default. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof settingTable)[Name]> };

/** `dataDir` -> `data-dir` */
export function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `dataDir` -> `QUOTEBOOK_DATA_DIR` */
export function environmentNameOf(name: string): string {
  return `QUOTEBOOK_${flagOf(name).replaceAll('-', '_').toUpperCase()}`;
}

/** One setting: what it takes, what it is when nobody sets it, and what is said of it in the documentation. */
export interface Setting<S extends TSchema = TSchema, D = unknown> {
  readonly schema: S;
  readonly default: D;
  /** The form of a value, in words: ends the message about a wrong value. */
  readonly form: string;
  readonly about: string;
  /** `all`: never shown. `url`: shown up to its host, since providers put their keys behind it. */
  readonly secret: 'all' | 'url' | null;
  /** False: not taken from the command line, which every user of the machine can read. */
  readonly flag: boolean;
  /** Value of the flag when it stands alone; null: it needs one. */
  readonly flagAlone: string | null;
  /** Check that its schema cannot express, of a value or of each in a list. */
  readonly isRight: (value: string) => boolean;
}

type Extras = Partial<Pick<Setting, 'secret' | 'flag' | 'flagAlone' | 'isRight'>>;

function setting<const S extends TSchema, const D>(
  schema: S,
  defaultValue: D,
  form: string,
  about: string,
  { secret = null, flag = true, flagAlone = null, isRight = () => true }: Extras = {},
): Setting<S, D> {
  return { schema, default: defaultValue, form, about, secret, flag, flagAlone, isRight };
}

function oneOf<const V extends string>(values: readonly V[], defaultValue: V, about: string) {
  const schema = Type.Unsafe<V>(Type.Enum([...values], { type: 'string' }));
  return setting(schema, defaultValue, `one of ${values.join(', ')}`, about);
}

function integer(minimum: number, maximum: number, defaultValue: number, about: string) {
  const form = `a whole number from ${minimum} to ${maximum}`;
  return setting(Type.Integer({ minimum, maximum }), defaultValue, form, about);
}

/**
 * Whether a text that begins like a URL is one. The patterns of the settings accept an invalid host and a
 * port beyond 65535; a fragment has no meaning for a server, and a WebSocket may not have one (RFC 6455, 3).
 */
export function isUrl(text: string): boolean {
  return URL.canParse(text) && !text.includes('#');
}

/** EIP-55: an address in one letter case carries no checksum, one in mixed case must match it. */
export function isMistyped(address: string): boolean {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return false;
  return checksumAddress(address as Hex) !== address;
}
