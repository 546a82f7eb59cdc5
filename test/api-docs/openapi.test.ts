import t from 'tap';
import { openApi } from '../../src/api-docs/openapi.js';
import { apiDocuments, documentedRoutes } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';
import { PACKAGE_VERSION } from '../../src/system/package-version.js';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}
interface Document {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const document = openApi(documentedRoutes(limits, { symbols: ['WETH'], vaultBases: ['WETH'] }), {
  version: '1.0.0',
}) as Document;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

await t.test('each operation has a name of its own that a program can have', (t) => {
  const ids = operations.map(({ operationId }) => operationId);
  t.ok(ids.length > 10, `${ids.length} operations`);
  t.strictSame(
    ids.filter((id) => !/^[a-z][A-Za-z]*$/.test(id)),
    [],
  );
  t.equal(new Set(ids).size, ids.length);
  t.end();
});

await t.test('each operation says more than its summary', (t) => {
  for (const { operationId, summary, description } of operations) {
    t.match(description, /^[^\n]{20,}\.$/, operationId);
    t.notMatch(description, summary, operationId);
  }
  t.end();
});

await t.test('each group of operations is described, and has operations', (t) => {
  const used = new Set(operations.flatMap(({ tags }) => tags));
  t.strictSame(document.tags.map(({ name }) => name).sort(), [...used].sort());
  t.end();
});

await t.test('an answer of many routes is described with all its reasons, on the routes that have them', (t) => {
  const unavailable = (path: string, method: string): string =>
    document.paths[path]?.[method]?.responses['503']?.description ?? '';
  t.match(unavailable('/pools', 'get'), /has not reached its chains yet/);
  t.match(unavailable('/pools', 'get'), /has not read the event of `x-min-seq` yet/);
  t.notMatch(unavailable('/pools', 'get'), /too many bodies/, 'it takes none');
  const withoutKey = unavailable('/auth/keys/nonce', 'post');
  t.match(withoutKey, /has not reached its chains yet.*too many bodies/);
  t.notMatch(withoutKey, /x-min-seq/);
  t.end();
});

await t.test("the documents have the package's version", (t) => {
  const documents = apiDocuments(limits, { chainId: '421613', symbols: ['WETH'], vaultBases: ['WETH'] });
  for (const text of [documents.openApi, documents.asyncApi]) {
    t.equal((JSON.parse(text) as Document).info.version, PACKAGE_VERSION);
  }
  t.end();
});
