/** Content of the file at `path`; rejects when it cannot be read. */
export type ReadText = (path: string) => Promise<string>;

/** Why a file could not be read, in a few words: `ENOENT` and the like, without the call and the path again. */
export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'there is no such file' : (code ?? message);
}

/**
 * Why a text is not JSON, without any of the text: V8 quotes ten characters on either side of the place, and what stands
 * there may be half a secret.
 */
export function whyNotJson({ message }: SyntaxError): string {
  return message.replace(/, (\.{3})?".*"(\.{3})? is not valid JSON$/s, '');
}
