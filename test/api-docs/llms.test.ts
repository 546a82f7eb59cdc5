import t from 'tap';
import { apiDocuments } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';
import { ERROR_CODE_NAMES } from '../../src/wire/error-codes.js';

const { llms, openApi, asyncApi } = apiDocuments(limits, {
  chainId: '421613',
  symbols: ['WETH'],
  vaultBases: ['WETH'],
});

t.test('llms.txt has every operation, message and error code', (t) => {
  const { paths } = JSON.parse(openApi) as { paths: Record<string, object> };
  const { channels } = JSON.parse(asyncApi) as { channels: Record<string, { messages: object }> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `- \`${method.toUpperCase()} ${path}\`: `),
  );
  const messages = Object.values(channels).flatMap((channel) => Object.keys(channel.messages));
  t.ok(operations.length > 40 && messages.length > 40);
  for (const operation of operations) t.ok(llms.includes(operation), operation);
  for (const message of messages) t.ok(llms.includes(` \`${message}\`: `), message);
  for (const code of ERROR_CODE_NAMES) t.ok(llms.includes(`- \`${code}\` (`), code);
  t.end();
});
