import { create } from '../elements.js';

/** What the form reads of /openapi.json. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
}

interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly security: readonly unknown[];
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly example?: string | readonly string[];
}

interface Operation extends ApiOperation {
  readonly method: string;
  readonly path: string;
}

/** An address of the service itself: the form sends to no other. */
const HERE = location.origin;
/** Longer answers are cut, so that they stay readable. */
const MOST_CHARACTERS = 100_000;

/**
 * A form that sends a request of any operation to this service. Its fields have the values of the recorded example, and
 * an option of this service's in place of the recorded one.
 */
export class TryIt {
  readonly #operations: readonly Operation[];
  readonly #select = create('select');
  readonly #key = create('input');
  readonly #fields = create('div');
  readonly #status = create('p');
  readonly #answer = create('pre');
  #pool: string | null = null;

  constructor(target: Element, document: ApiDocument, key: string | null) {
    this.#operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
    this.#select.id = 'try-operation';
    for (const { operationId, method, path } of this.#operations) {
      const option = create('option', '', `${method} ${path}`);
      option.value = operationId;
      this.#select.append(option);
    }
    this.#select.addEventListener('change', () => this.#showFields());
    this.#key.id = 'try-key';
    this.#key.autocomplete = 'off';
    this.#key.value = key ?? '';
    this.#status.role = 'status';
    const form = create('form');
    form.append(
      labelled('Operation', this.#select),
      labelled('x-apikey', this.#key),
      this.#fields,
      create('button', '', 'Send'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#send();
    });
    target.replaceChildren(create('h1', '', 'Try it'), form, this.#status, this.#answer);
    this.#showFields();
  }

  /** Chooses an operation by its id, in any case; keeps the chosen one if there is none of that id. */
  choose(operationId: string): void {
    const found = this.#operations.find((each) => each.operationId.toLowerCase() === operationId.toLowerCase());
    if (found === undefined || this.#select.value === found.operationId) return;
    this.#select.value = found.operationId;
    this.#showFields();
  }

  /** Takes the place of the recorded option. Called once, when one is known. */
  usePool(poolAddress: string): void {
    this.#pool = poolAddress;
    this.#showFields();
  }

  get #operation(): Operation | undefined {
    return this.#operations.find(({ operationId }) => operationId === this.#select.value);
  }

  #showFields(): void {
    const { parameters = [], requestBody, summary = '' } = this.#operation ?? {};
    const inputs = parameters
      .filter((parameter) => parameter.in !== 'header')
      .map(({ name, in: place, required, example }) => {
        const input = create('input');
        input.id = `try-${place}-${name}`;
        input.required = required;
        const isPool = /^pool(Address)?$/.test(name) && example !== undefined;
        input.value = isPool && this.#pool !== null ? this.#pool : [example ?? ''].flat().join(',');
        return labelled(required ? `${name} (required)` : name, input);
      });
    this.#fields.replaceChildren(create('p', '', summary), ...inputs);
    if (requestBody !== undefined) {
      const body = create('textarea');
      body.id = 'try-body';
      body.rows = 12;
      body.value = JSON.stringify(requestBody.content['application/json']?.example ?? {}, null, 2);
      this.#fields.append(labelled('Body', body));
    }
    this.#status.textContent = '';
    this.#answer.textContent = '';
  }

  async #send(): Promise<void> {
    const operation = this.#operation;
    if (operation === undefined) return;
    const body = this.#fields.querySelector('textarea')?.value;
    const key = this.#key.value.trim();
    const startMs = performance.now();
    this.#status.textContent = 'Waiting for the answer';
    this.#answer.textContent = '';
    try {
      const response = await fetch(this.#url(operation), {
        method: operation.method,
        headers: {
          ...(operation.security.length > 0 && key !== '' && { 'x-apikey': key }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      const tookMs = Math.round(performance.now() - startMs);
      this.#status.textContent = `${response.status} after ${tookMs} ms`;
      this.#answer.textContent = readable(text).slice(0, MOST_CHARACTERS);
    } catch (error) {
      this.#status.textContent = `No answer: ${String(error)}`;
    }
  }

  #url({ path, parameters = [] }: Operation): string {
    let target = path;
    const query = new URLSearchParams();
    for (const { name, in: place, example } of parameters) {
      const value = this.#fields.querySelector<HTMLInputElement>(`[id="try-${place}-${name}"]`)?.value ?? '';
      if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value));
      else if (value !== '' && Array.isArray(example))
        for (const item of value.split(',')) query.append(`${name}[]`, item);
      else if (value !== '') query.append(name, value);
    }
    return query.size === 0 ? HERE + target : `${HERE}${target}?${query}`;
  }
}

function labelled(text: string, field: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement): HTMLElement {
  const label = create('label', '', text);
  label.append(field);
  return label;
}

/** JSON with a line for each field. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
