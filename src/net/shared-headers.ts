import { whyNoHeader } from './backend-answers.js';

/**
 * Headers that many answers have. They are looked at and joined when this is made, and not with each answer, which for
 * a small one is a good part of what it costs.
 */
export class SharedHeaders {
  readonly record: Readonly<Record<string, string>>;
  /** As they go over the connection: lines with an end between each two, and none at the end. */
  readonly lines: string;

  /** Throws when HTTP cannot carry one of them. */
  constructor(record: Readonly<Record<string, string>>) {
    const entries = Object.entries(record);
    for (const [name, value] of entries) {
      const why = whyNoHeader(name, value);
      if (why !== undefined) throw new Error(why);
    }
    this.record = record;
    this.lines = entries.map(([name, value]) => `${name}: ${value}`).join('\r\n');
  }
}
