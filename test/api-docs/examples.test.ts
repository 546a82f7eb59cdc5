import { spawnSync } from 'node:child_process';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import ts from 'typescript';
import { codeSamples, Examples, parametersOf, type RecordedCall } from '../../src/api-docs/examples.js';
import { apiDocuments } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';

interface Content {
  readonly schema: object;
  readonly example?: unknown;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: object; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
  readonly 'x-codeSamples'?: readonly { readonly lang: string; readonly source: string }[];
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
interface Message {
  readonly payload: object;
  readonly examples?: readonly { readonly payload: unknown }[];
}

const JSON_TYPE = 'application/json';
const PYTHON = `
import json, sys
for source in json.load(sys.stdin):
    compile(source, "sample", "exec")
`;
const escaped = (token: string): string => encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'));

/** The documents of a deployment, and what is wrong with a value by a place in one of them. */
function documentsOf(chainId: string, symbols: readonly string[]) {
  const texts = apiDocuments(limits, { chainId, symbols, vaultBases: symbols.filter((symbol) => symbol !== 'USDC') });
  const openApi = JSON.parse(texts.openApi) as { readonly paths: Paths };
  const asyncApi = JSON.parse(texts.asyncApi) as {
    readonly channels: Readonly<Record<string, { readonly messages: Readonly<Record<string, Message>> }>>;
  };
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(openApi, 'openapi').addSchema(asyncApi, 'asyncapi');
  const problemAt = (value: unknown, document: string, ...place: readonly string[]): string | null => {
    const validate = ajv.getSchema(`${document}#/${place.map(escaped).join('/')}`);
    if (validate === undefined) return `${place.join(' ')} is not documented`;
    return validate(value) === true ? null : ajv.errorsText(validate.errors);
  };
  return { openApi, asyncApi, problemAt };
}

for (const [chainId, symbols] of [
  ['421613', ['testWETH', 'USDC']],
  ['42161', ['WETH', 'USDC']],
  ['31337', ['testWETH', 'USDC']],
] as const) {
  const { openApi, asyncApi, problemAt } = documentsOf(chainId, symbols);
  const examples = new Examples(chainId, symbols);

  t.test(`on chain ${chainId} each operation has an example that its schemas accept`, (t) => {
    for (const [path, methods] of Object.entries(openApi.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const at = `${method} ${path}`;
        const place = ['paths', path, method];
        const names = (operation.parameters ?? []).map(({ name }) => name);
        const recorded = examples.call(`${method.toUpperCase()} ${path}`);
        const sent = recorded === null ? [] : Object.keys(parametersOf(recorded));
        t.strictSame(
          sent.filter((name) => !names.includes(name)),
          [],
          `${at} takes what was sent`,
        );
        for (const [index, { name, example }] of (operation.parameters ?? []).entries()) {
          if (example === undefined) continue;
          t.equal(
            problemAt(example, 'openapi', ...place, 'parameters', String(index), 'schema'),
            null,
            `${at} ${name}`,
          );
        }
        if (operation.requestBody !== undefined) {
          const { example } = operation.requestBody.content[JSON_TYPE] ?? {};
          const body = [...place, 'requestBody', 'content', JSON_TYPE, 'schema'];
          t.equal(problemAt(example, 'openapi', ...body), null, `${at} request`);
        }
        const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
        const answered = answers.flatMap(([status, { content }]) => {
          const { example } = content?.[JSON_TYPE] ?? {};
          return example === undefined ? [] : [[status, example] as const];
        });
        const hasJson = answers.some(([, { content }]) => content?.[JSON_TYPE] !== undefined);
        t.equal(answered.length, hasJson ? 1 : 0, `${at} has an answer`);
        for (const [status, example] of answered) {
          const answer = [...place, 'responses', status, 'content', JSON_TYPE, 'schema'];
          t.equal(problemAt(example, 'openapi', ...answer), null, `${at} ${status}`);
        }
      }
    }
    t.end();
  });

  t.test(`on chain ${chainId} each operation has examples of errors that its schemas accept`, (t) => {
    for (const [path, methods] of Object.entries(openApi.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        const at = `${method} ${path}`;
        const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
        const shown = errors.filter(([, { content }]) => content?.[JSON_TYPE]?.example !== undefined);
        const statuses = shown.map(([status]) => status);
        t.ok(statuses.includes('405'), `${at} 405`);
        for (const status of ['400', '401'])
          if (responses[status] !== undefined) t.ok(statuses.includes(status), `${at} ${status}`);
        const isForOperators = JSON.stringify(responses['403'] ?? '').includes('no scope `operator`');
        t.equal(isForOperators && !statuses.includes('403'), false, `${at} 403`);
        for (const [status, { content }] of shown) {
          for (const type of [JSON_TYPE, 'application/problem+json']) {
            const answer = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
            t.equal(problemAt(content?.[type]?.example, 'openapi', ...answer), null, `${at} ${status} ${type}`);
          }
        }
      }
    }
    t.end();
  });

  t.test(`on chain ${chainId} each message has an example that its schema accepts`, (t) => {
    for (const [channel, { messages }] of Object.entries(asyncApi.channels)) {
      for (const [name, message] of Object.entries(messages)) {
        t.equal(message.examples?.length, 1, `${channel} ${name} has an example`);
        const payload = ['channels', channel, 'messages', name, 'payload'];
        for (const example of message.examples ?? [])
          t.equal(problemAt(example.payload, 'asyncapi', ...payload), null, name);
      }
    }
    t.end();
  });
}

t.test('each operation shows its call in three languages that compile', (t) => {
  const { openApi } = documentsOf('421613', ['testWETH', 'USDC']);
  const samples = Object.values(openApi.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => operation['x-codeSamples'] ?? []);
  for (const sample of samples)
    t.strictSame(
      sample.map(({ lang }) => lang),
      ['Shell', 'TypeScript', 'Python'],
    );
  const sources = (lang: string): string[] =>
    samples.flatMap((sample) => sample.filter((each) => each.lang === lang).map(({ source }) => source));
  t.ok(sources('Shell').length > 40);
  for (const fileName of sources('TypeScript')) {
    const { diagnostics } = ts.transpileModule(fileName, { reportDiagnostics: true });
    t.strictSame(diagnostics, [], fileName);
  }
  const shell = spawnSync('bash', ['-n'], { input: sources('Shell').join('\n') });
  t.equal(shell.status, 0, String(shell.stderr));
  const input = JSON.stringify(sources('Python'));
  const python = spawnSync('python3', ['-c', PYTHON], { input });
  if (python.error === undefined) t.equal(python.status, 0, String(python.stderr));
  t.end();
});

t.test('a body keeps its quotes, and its words for true, false and null in each language', (t) => {
  const call: RecordedCall = {
    operation: 'POST /rfqs',
    target: '/rfqs',
    body: { a: null, b: [true, false], c: "it's null, true" },
    status: 201,
  };
  const [shell, typeScript, python] = codeSamples(call, true).map(({ source }) => source);
  t.match(shell, String.raw`-d '{"a":null,"b":[true,false],"c":"it'\''s null, true"}'`);
  t.match(typeScript, '"a": null');
  t.match(python, '"a": None');
  t.match(python, 'True,');
  t.match(python, '"it\'s null, true"');
  t.end();
});

t.test('parameters of a recorded call are found in its path and its query', (t) => {
  const call = { operation: 'GET /book/{pool}/proof', target: '/book/0xab/proof?seq=7&ids[]=a&ids[]=b', status: 200 };
  t.strictSame(parametersOf(call), { pool: '0xab', seq: '7', ids: ['a', 'b'] });
  t.end();
});

t.test('examples name the chain and a token of the deployment', (t) => {
  const recorded = '{"operation":"GET /x","target":"/x?chainId=421613&base=testWETH","status":200}';
  t.equal(new Examples('42161', ['ARB', 'WETH'], recorded).call('GET /x')?.target, '/x?chainId=42161&base=WETH');
  t.equal(new Examples('42161', ['ARB'], recorded).call('GET /x')?.target, '/x?chainId=42161&base=ARB');
  t.equal(new Examples('42161', ['ARB'], recorded).call('GET /y'), null);
  t.end();
});
