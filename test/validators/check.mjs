// Public validators on the documents of a built service: Redocly's recommended rules, Spectral's rule sets for OpenAPI and
// AsyncAPI, and the parser of the AsyncAPI project. None of them may have anything to say. Their packages are in a directory
// of their own, since nothing but this check wants them:
//   npm ci --prefix test/validators && node test/validators/check.mjs
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { apiDocuments } from '../../dist/src/app/http-wiring.js';
import { limits } from '../../dist/src/config/limits.js';

const { resolve } = createRequire(import.meta.url);
const load = async (name) => {
  const { default: common, ...named } = await import(pathToFileURL(resolve(name)).href);
  return { ...common, ...named };
};
const [redocly, spectral, rulesets, asyncApi] = await Promise.all(
  ['@redocly/openapi-core', '@stoplight/spectral-core', '@stoplight/spectral-rulesets', '@asyncapi/parser'].map(load),
);

/** Rules that are off, with the reason. */
const OFF = {
  'asyncapi-info-contact-properties': 'The program does not know the address of the operator who runs it.',
};

const documents = apiDocuments(limits, { chainId: '421613', symbols: ['testWETH', 'USDC'], vaultBases: ['testWETH'] });

async function linted(text, rules) {
  const off = Object.fromEntries(Object.keys(OFF).map((rule) => [rule, 'off']));
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [rules], rules: rules === rulesets.asyncapi ? off : {} });
  const findings = await linter.run(JSON.parse(text));
  return findings.map(({ code, message, path }) => `${code} at ${path.join('.')}: ${message}`);
}

t.test("Redocly's recommended rules find nothing in /openapi.json", async (t) => {
  const config = await redocly.createConfig({ extends: ['recommended'] });
  const source = documents.openApi;
  const problems = await redocly.lintFromString({ source, absoluteRef: 'openapi.json', config });
  t.strictSame(
    problems.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`),
    [],
  );
});

t.test("Spectral's rules for OpenAPI find nothing in /openapi.json", async (t) => {
  t.strictSame(await linted(documents.openApi, rulesets.oas), []);
});

t.test("Spectral's rules for AsyncAPI find nothing in /asyncapi.json", async (t) => {
  t.strictSame(await linted(documents.asyncApi, rulesets.asyncapi), []);
});

t.test('the parser of AsyncAPI reads /asyncapi.json and has nothing to say', async (t) => {
  const { document, diagnostics } = await new asyncApi.Parser().parse(documents.asyncApi);
  const findings = diagnostics.map(({ code, message, path }) => `${code} at ${path.join('.')}: ${message}`);
  t.strictSame(
    findings.filter((finding) => !Object.keys(OFF).some((rule) => finding.startsWith(`${rule} `))),
    [],
  );
  t.equal(document?.version(), '3.1.0');
});
