import { RECORDED_ERRORS } from './recorded-errors.js';
import { RECORDED } from './recorded.js';

/** One call as it was made and answered. */
export interface RecordedCall {
  /** Method and path of the route, such as `GET /book/{pool}`. */
  readonly operation: string;
  /** Path and query. */
  readonly target: string;
  readonly body?: unknown;
  readonly status: number;
  /** Absent: the answer is no JSON. */
  readonly answer?: unknown;
}

/** An error as it was answered, in both forms. */
export interface RecordedError {
  /** Those that gave this answer. */
  readonly operations: readonly string[];
  readonly status: number;
  /** In plain JSON. */
  readonly answer: unknown;
  /** As problem details. */
  readonly problem: unknown;
}

interface RecordedMessage {
  /** Protocol and name, as in the document. */
  readonly channel: string;
  readonly name: string;
  readonly message: unknown;
}

/** Examples recorded on the local chain, with a deployment's chain and tokens in place of the local ones. */
export class Examples {
  readonly #calls = new Map<string, RecordedCall>();
  readonly #messages = new Map<string, unknown>();
  /** By operation and status. */
  readonly #errors = new Map<string, RecordedError>();

  /** `symbols`: those with a token on the chain that is served. */
  constructor(chainId: string, symbols: readonly string[], recorded = RECORDED, recordedErrors = RECORDED_ERRORS) {
    const here = (lines: string): unknown[] =>
      lines
        .replaceAll(LOCAL_CHAIN_ID, chainId)
        .replaceAll(LOCAL_TOKEN, tokenOf(symbols))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown);
    for (const error of here(recordedErrors) as RecordedError[]) {
      for (const operation of error.operations) this.#errors.set(`${operation} ${error.status}`, error);
    }
    for (const example of here(recorded) as (RecordedCall | RecordedMessage)[]) {
      if ('operation' in example) this.#calls.set(example.operation, example);
      else this.#messages.set(`${example.channel} ${example.name}`, example.message);
    }
  }

  /** Null where none was recorded. */
  call(operation: string): RecordedCall | null {
    return this.#calls.get(operation) ?? null;
  }

  /** Null where none was recorded. */
  error(operation: string, status: string): RecordedError | null {
    return this.#errors.get(`${operation} ${status}`) ?? null;
  }

  /** Undefined where none was recorded. */
  message(channel: string, name: string): unknown {
    return this.#messages.get(`${channel} ${name}`);
  }
}

const LOCAL_CHAIN_ID = /\b421613\b/g;
const LOCAL_TOKEN = /\btestWETH\b/g;

/** The base token of the examples. */
function tokenOf(symbols: readonly string[]): string {
  return ['testWETH', 'WETH'].find((symbol) => symbols.includes(symbol)) ?? symbols[0] ?? 'WETH';
}

/** The values of a call's parameters, by name; of a repeated one a list. */
export function parametersOf({
  operation,
  target,
}: RecordedCall): Readonly<Record<string, string | readonly string[]>> {
  const [path = '', query = ''] = target.split('?');
  const [, route = ''] = operation.split(' ');
  const given = path.split('/');
  const values: Record<string, string | string[]> = {};
  for (const [index, part] of route.split('/').entries()) {
    if (part.startsWith('{')) values[part.slice(1, -1)] = given[index] ?? '';
  }
  for (const [name, value] of new URLSearchParams(query)) {
    const isList = name.endsWith('[]');
    const key = isList ? name.slice(0, -2) : name;
    const known = values[key];
    values[key] = isList ? [...(Array.isArray(known) ? known : []), value] : value;
  }
  return values;
}

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The call in languages that clients are written in. `needsKey`: whether it sends the API key. */
export function codeSamples({ operation, target, body }: RecordedCall, needsKey: boolean): CodeSample[] {
  const [method = ''] = operation.split(' ');
  return [
    { lang: 'Shell', label: 'curl', source: curl(method, target, body, needsKey) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScript(method, target, body, needsKey) },
    { lang: 'Python', label: 'Python', source: python(method, target, body, needsKey) },
  ];
}

const ORIGIN = 'http://127.0.0.1:8080';

function curl(method: string, target: string, body: unknown, needsKey: boolean): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}--globoff '${ORIGIN}${target}'`,
    ...(needsKey ? ['-H "x-apikey: $QUOTEBOOK_API_KEY"'] : []),
    ...(body === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return lines.join(' \\\n  ');
}

function typeScript(method: string, target: string, body: unknown, needsKey: boolean): string {
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(needsKey ? ["  headers: { 'x-apikey': process.env.QUOTEBOOK_API_KEY ?? '' },"] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(body, '  ')}),`]),
  ];
  const more = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  return [
    `const response = await fetch('${ORIGIN}${target}'${more});`,
    'if (!response.ok) throw new Error(await response.text());',
    'console.log(await response.text());',
  ].join('\n');
}

function python(method: string, target: string, body: unknown, needsKey: boolean): string {
  const keyword = (text: string): string => `    ${text},`;
  const isPlain = body === undefined && !needsKey && method === 'GET';
  return [
    ...(body === undefined ? [] : ['import json']),
    ...(needsKey ? ['import os'] : []),
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    keyword(`"${ORIGIN}${target}"`),
    ...(isPlain ? [] : [keyword(`method="${method}"`)]),
    ...(needsKey ? [keyword('headers={"x-apikey": os.environ["QUOTEBOOK_API_KEY"]}')] : []),
    ...(body === undefined ? [] : [keyword(`data=json.dumps(${pythonLiteral(body)}).encode()`)]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.read().decode())',
  ].join('\n');
}

function indented(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`);
}

/** JSON is Python except for three words, which in a string stay as they are. */
function pythonLiteral(value: unknown): string {
  return indented(value, '    ').replace(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (token) => ({ true: 'True', false: 'False', null: 'None' })[token] ?? token,
  );
}
