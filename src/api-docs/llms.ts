import { ERROR_CODE_NAMES, ERROR_CODES } from '../wire/error-codes.js';
import type { ChannelDoc } from './asyncapi.js';
import { conceptsMarkdown } from './concepts.js';
import type { ApiInfo, RouteDoc } from './openapi.js';

/** /llms.txt (llmstxt.org): the whole API for programs that read text. */
export function llmsText(
  routes: readonly RouteDoc[],
  channels: Readonly<Record<string, ChannelDoc>>,
  { version }: ApiInfo,
): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const operations = tags.flatMap((tag) => [
    `### ${tag}`,
    '',
    ...routes
      .filter((route) => route.tag === tag)
      .map(({ method, path, summary, description }) => `- \`${method} ${path}\`: ${summary}. ${description}`),
    '',
  ]);
  const protocols = Object.entries(channels).flatMap(
    ([name, { description, subprotocols, fromClient, fromServer }]) => [
      `### ${name} (subprotocol: ${subprotocols?.join(' or ') ?? 'none'})`,
      '',
      description,
      '',
      ...Object.entries(fromClient).map(([message, { summary }]) => `- client \`${message}\`: ${summary}`),
      ...Object.entries(fromServer).map(([message, { summary }]) => `- server \`${message}\`: ${summary}`),
      '',
    ],
  );
  const errors = ERROR_CODE_NAMES.map((code) => {
    const { status, title, remedy } = ERROR_CODES[code];
    return `- \`${code}\` (${status ?? 'socket'}): ${title} ${remedy}`;
  });
  return [
    `# Quotebook ${version}`,
    '',
    '> A real-time order book for on-chain options: signed quotes over REST and WebSocket.',
    '',
    '- [OpenAPI](/openapi.json): every route with schemas, an example and code',
    '- [AsyncAPI](/asyncapi.json): every message of the WebSocket with its schema and an example',
    '- [Documentation](/docs): the same for people; [WebSocket](/docs/sockets), [errors](/docs#errors)',
    '- [Changelog](/changelog.txt)',
    '',
    conceptsMarkdown(),
    '',
    '## REST',
    '',
    ...operations,
    '## WebSocket',
    '',
    ...protocols,
    '## Error codes',
    '',
    ...errors,
    '',
  ].join('\n');
}
