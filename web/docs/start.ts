import { type ApiDocument, TryIt } from './try-it.js';

/**
 * Gives /docs and /docs/sockets another form: Redoc, which renders the document that the page names. It runs before the
 * page is shown. Where it fails, and without it, the plain page stays, whose errors it shows for an anchor of one.
 */
interface Renderer {
  readonly init: (document: object, options: object, element: Element | null) => unknown;
}

/** What the documents say where they cannot know better. */
const SAMPLE_ORIGIN = 'http://127.0.0.1:8080';
const SAMPLE_HOST = 'localhost:8080';
const SAMPLE_KEY = '$QUOTEBOOK_API_KEY';
/** In a variable: it is no part of this script. */
const RENDERER = '/redoc.js';

const source = document.currentScript?.dataset.source ?? '';
let started = false;
let form: Promise<TryIt> | null = null;

function showView(): void {
  const anchor = location.hash.slice(1);
  const isError = /^errors?(-|$)/.test(anchor);
  document.documentElement.dataset.view = isError ? 'errors' : 'rendered';
  if (isError) return document.getElementById(anchor)?.scrollIntoView();
  if (/^try(\/|$)/.test(anchor)) {
    showForm(anchor.slice('try/'.length)).catch((error: unknown) => console.error(error));
    return;
  }
  if (started) return;
  started = true;
  render().catch((error: unknown) => {
    console.error(error);
    document.documentElement.dataset.view = 'plain';
  });
}

/** A form to send requests, with the operation of that id. */
async function showForm(operationId: string): Promise<void> {
  document.documentElement.dataset.view = 'form';
  form ??= openForm();
  (await form).choose(operationId);
}

async function openForm(): Promise<TryIt> {
  const [apiDocument, key] = await Promise.all([
    fetch('/openapi.json').then((response) => response.json() as Promise<ApiDocument>),
    localKey(),
  ]);
  const section = document.createElement('main');
  section.id = 'try';
  document.body.append(section);
  const tryIt = new TryIt(section, apiDocument, key);
  const poolAddress = key === null ? null : await anyPool(key);
  if (poolAddress !== null) tryIt.usePool(poolAddress);
  return tryIt;
}

/** An option of this service's, for the examples. */
async function anyPool(key: string): Promise<string | null> {
  const response = await fetch('/instruments', { headers: { 'x-apikey': key } });
  if (!response.ok) return null;
  const instruments = (await response.json()) as readonly { readonly poolAddress: string }[];
  return instruments[0]?.poolAddress ?? null;
}

/** Adds the way to the form, from an operation to its own. */
function linkForm(): void {
  const link = document.createElement('a');
  link.href = '/docs#try';
  link.textContent = 'Try it';
  link.addEventListener('click', (event) => {
    const [, operationId] = location.hash.split('/');
    if (operationId === undefined || location.pathname !== '/docs') return;
    event.preventDefault();
    location.hash = `#try/${operationId}`;
  });
  document.querySelector('#bar')?.append(' ', link);
}

async function render(): Promise<void> {
  const [{ init }, text, key] = await Promise.all([
    import(RENDERER) as Promise<Renderer>,
    fetch(source).then((response) => response.text()),
    localKey(),
  ]);
  const here = text
    .replaceAll(SAMPLE_ORIGIN, location.origin)
    .replaceAll(SAMPLE_HOST, location.host)
    .replaceAll(SAMPLE_KEY, () => key ?? SAMPLE_KEY);
  const options = { disableTelemetry: true, router: 'hash', scrollYOffset: '#bar' };
  init(JSON.parse(here) as object, options, document.querySelector('#rendered'));
}

/** The key of a local set-up, so that its calls can be copied as they are. */
async function localKey(): Promise<string | null> {
  const response = await fetch('/page.json');
  return response.ok ? ((await response.json()) as { readonly apiKey: string | null }).apiKey : null;
}

function start(): void {
  linkForm();
  showView();
}

addEventListener('hashchange', showView);
if (document.readyState === 'loading') {
  document.documentElement.dataset.view = 'rendered';
  addEventListener('DOMContentLoaded', start);
} else start();
