import type { TSchema } from 'typebox';
import { ERROR_CODE_NAMES, ERROR_CODES, errorAnchor, type ErrorCode } from '../wire/error-codes.js';
import type { ChannelDoc, MessageDoc } from './asyncapi.js';
import { CONCEPTS } from './concepts.js';
import { httpErrors, socketCloses, socketErrors } from './errors.js';
import { answersOf, type ApiInfo, type RouteDoc, schemasOf } from './openapi.js';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
#bar { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: .6rem 1rem; border-bottom: 1px solid #8884; }
#bar a { line-height: 1.8; }
#plain { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
nav a { margin-right: 1rem; }
h2 { margin-top: 3rem; }
summary { cursor: pointer; padding: .4rem 0; }
code, pre { font: .85rem/1.4 ui-monospace, monospace; }
#plain pre { white-space: pre-wrap; padding: .8rem; border: 1px solid #8886; border-radius: 6px; }
#plain code, #plain pre, #plain th, #plain td { overflow-wrap: anywhere; }
#plain table { border-collapse: collapse; width: 100%; }
#plain td, #plain th { text-align: left; vertical-align: top; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid #8884; }
#plain :target { background: #fd04; }
html[data-view=rendered] #plain, html[data-view=errors] #rendered { display: none; }
html[data-view=errors] #plain > :not(#errors-section) { display: none; }
#try { display: none; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
html[data-view=form] #try { display: block; }
html[data-view=form] #plain, html[data-view=form] #rendered { display: none; }
#try label { display: block; margin: .6rem 0; }
#try input, #try select, #try textarea { display: block; box-sizing: border-box; width: 100%; padding: .4rem; font: .85rem/1.4 ui-monospace, monospace; }
#try button { padding: .5rem 1.5rem; border: 1px solid currentColor; border-radius: 6px; font: inherit; cursor: pointer; }
#try pre { overflow: auto; max-height: 30rem; padding: .8rem; border: 1px solid #8886; border-radius: 6px; }
#try pre:empty { display: none; }
`;

interface Section {
  readonly title: string;
  readonly html: string;
}

/**
 * Both documents as one page to read, which needs no script. Where the page was built, `/docs.js` renders /openapi.json in
 * its place, and shows its errors for an anchor of one.
 */
export function docsPage(
  routes: readonly RouteDoc[],
  channels: Readonly<Record<string, ChannelDoc>>,
  { version }: ApiInfo,
): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const sections: Section[] = [
    { title: 'Concepts', html: joined(CONCEPTS.map(({ title, text }) => `<h3>${title}</h3><p>${marked(text)}</p>`)) },
    ...tags.map((tag) => ({ title: tag, html: joined(routes.filter((route) => route.tag === tag).map(routeHtml)) })),
    ...Object.entries(channels).map(([name, channel]) => ({ title: `WebSocket: ${name}`, html: channelHtml(channel) })),
    { title: 'Errors', html: errorsHtml() },
  ];
  const links = sections.map(({ title }) => `<a href="#${anchor(title)}">${escape(title)}</a>`);
  const all = sections.map(
    ({ title, html }) =>
      `<section id="${anchor(title)}-section"><h2 id="${anchor(title)}">${escape(title)}</h2>\n${html}</section>`,
  );
  return htmlPage(
    'Quotebook API',
    '/openapi.json',
    `<h1>Quotebook API <small>${escape(version)}</small></h1>
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1) and <a href="/asyncapi.json">asyncapi.json</a> (AsyncAPI 3.1).
The key goes in the header <code>x-apikey</code>; on a socket in its first message, AUTH.</p>
<nav>${joined(links)}</nav>
${joined(all)}`,
  );
}

/** The WebSocket API, rendered from /asyncapi.json; without a script it leads to the page above. */
export function socketsPage(channels: Readonly<Record<string, ChannelDoc>>): string {
  const items = Object.entries(channels).map(
    ([name, { description }]) =>
      `<li><a href="/docs#${anchor(`WebSocket: ${name}`)}">${name}</a>: ${marked(description)}</li>`,
  );
  return htmlPage('Quotebook WebSocket API', '/asyncapi.json', `<h1>WebSocket</h1>\n<ul>${joined(items)}</ul>`);
}

/** `source`: the document that the script renders. */
function htmlPage(title: string, source: string, plain: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="/icon.svg">
<style>${STYLE}</style>
<script src="/docs.js" data-source="${source}"></script>
</head>
<body>
<header id="bar"><a href="/">Market</a> <a href="/docs">REST</a> <a href="/docs/sockets">WebSocket</a>
<a href="/docs#errors">Errors</a> <a href="/changelog.txt">Changelog</a> <a href="/llms.txt">llms.txt</a></header>
<div id="rendered"></div>
<main id="plain">
${plain}
</main>
</body>
</html>
`;
}

function routeHtml(route: RouteDoc): string {
  const { method, path, summary, needsKey, pathParameters, query, body } = route;
  const answers = Object.entries(answersOf(route)).map(([status, answer]) => [
    status,
    escape(answer.about) + (Number(status) >= 400 ? '' : schemasOf(answer).map(pre).join('or')),
  ]);
  return `<details>
<summary><code>${method} ${escape(path)}</code> ${escape(summary)}${needsKey ? '' : ' (no key)'}</summary>
${pathParameters === undefined ? '' : `<h4>Path</h4>${queryHtml(pathParameters)}`}
${query === undefined ? '' : `<h4>Query</h4>${queryHtml(query)}`}${body === undefined ? '' : `<h4>Body</h4>${pre(body)}`}
<h4>Answers</h4>${table(['Status', ''], answers)}
</details>`;
}

interface Parameter {
  readonly type?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
}

function queryHtml(query: TSchema): string {
  const { properties = {}, required = [] } = query as {
    readonly properties?: Readonly<Record<string, Parameter>>;
    readonly required?: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(name),
    required.includes(name) ? 'required' : '',
    code(schema.enum?.join(', ') ?? schema.pattern ?? schema.type ?? ''),
    escape(schema.description ?? ''),
  ]);
  return table(['Name', '', 'Takes', ''], rows);
}

function channelHtml({ description, subprotocols, fromClient, fromServer }: ChannelDoc): string {
  const list = (title: string, messages: Readonly<Record<string, MessageDoc>>): string => {
    const items = Object.entries(messages).map(
      ([name, { summary, schema }]) =>
        `<details><summary>${code(name)} ${escape(summary)}</summary>${pre(schema)}</details>`,
    );
    return `<h3>${title}</h3>${joined(items)}`;
  };
  const asked = subprotocols === null ? 'none' : subprotocols.map(code).join(' or ');
  return joined([
    `<p>${escape(description)} Subprotocol: ${asked}.</p>`,
    list('From the client', fromClient),
    list('From the server', fromServer),
  ]);
}

function errorsHtml(): string {
  const ofHttp = Object.entries(httpErrors).flatMap(([status, errors]) =>
    errors.map((error) => [status, code(error.message), codeLink(error.code), escape(error.when)]),
  );
  const ofSockets = socketErrors.map((error) => [code(error.message), codeLink(error.code), escape(error.when)]);
  const closes = socketCloses.map((close) => [String(close.code), code(close.message), escape(close.when)]);
  return joined([
    `<h3>Codes</h3>${codesHtml()}`,
    `<h3>HTTP</h3>${table(['Status', 'message', 'code', ''], ofHttp)}`,
    `<h3>ERROR on a socket</h3>${table(['message', 'code', ''], ofSockets)}`,
    `<h3>Closes</h3>${table(['Code', 'Reason', ''], closes)}`,
  ]);
}

/** Each row is where an error's `type` leads to. */
function codesHtml(): string {
  const rows = ERROR_CODE_NAMES.map((name) => {
    const { status, retryable, title, remedy } = ERROR_CODES[name];
    const anchored = `<span id="${errorAnchor(name)}">${code(name)}</span>`;
    return [anchored, String(status ?? 'socket'), retryable ? 'yes' : 'no', escape(title), escape(remedy)];
  });
  return table(['code', 'Status', 'Retryable', 'Meaning', 'What to do'], rows);
}

function codeLink(name: ErrorCode): string {
  return `<a href="#${errorAnchor(name)}">${code(name)}</a>`;
}

/** Cells are HTML already. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table>${row(heads, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`;
}

function pre(schema: TSchema): string {
  return `<pre>${escape(JSON.stringify(schema, null, 2))}</pre>`;
}

function code(text: string): string {
  return text === '' ? '' : `<code>${escape(text)}</code>`;
}

function joined(parts: readonly string[]): string {
  return parts.join('\n');
}

/** Text with `code` in it. */
function marked(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function anchor(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
