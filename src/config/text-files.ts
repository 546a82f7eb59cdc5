import path from 'node:path';
import { environmentNameOf, flagOf } from './setting-table.js';

/** Content of the file at `path`; rejects when it cannot be read. */
export type ReadText = (path: string) => Promise<string>;

/** Why a file could not be read, in a few words: `ENOENT` and the like, without the call and the path again. */
export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EACCES' ? 'EACCES: this user has no permission to read it' : (code ?? message);
}

/**
 * Why a text is not JSON, without any of the text: V8 quotes ten characters on either side of the place, and what stands
 * there may be half a secret.
 */
export function whyNotJson({ message }: SyntaxError): string {
  return message.replace(/, (\.{3})?".*"(\.{3})? is not valid JSON$/s, '');
}

/** What a code of the system means for a file or directory that a setting names, and what helps. */
const FILE_ERRORS: Readonly<Record<string, readonly [meaning: string, remedy: string]>> = {
  EEXIST: ['something that is no directory is in its place', 'Move that away'],
  ENOTDIR: ['a part of its path is no directory', 'Correct the path'],
  ENOENT: ['its parent does not exist or takes no files', 'Create the parent directory, or mount its volume'],
  EACCES: ['this user has no permission', 'Give this user the permission to read and write there'],
  EPERM: ['the system does not permit it', 'Give this user the permission to read and write there'],
  EROFS: ['the file system is read-only', 'Mount it writable'],
};

/**
 * An error of the system about a file that `dataDir` or `readyFile` names, as one line: the setting, what is wrong, and
 * what helps. Every other error stays as it is.
 */
export function explainFileError(
  error: unknown,
  { dataDir, readyFile = null }: { readonly dataDir: string; readonly readyFile?: string | null },
): unknown {
  const { code = '', path: named } = Object(error) as NodeJS.ErrnoException;
  const known = FILE_ERRORS[code];
  if (known === undefined || named === undefined) return error;
  const at = path.resolve(named);
  const isReadyFile = readyFile !== null && [readyFile, `${readyFile}.new`].some((file) => path.resolve(file) === at);
  // A directory above it may be what cannot be made.
  const isData = isBelow(at, path.resolve(dataDir)) || isBelow(path.resolve(dataDir), at);
  if (!isReadyFile && !isData) return error;
  // A file that is missing in the directory itself is no matter of where the directory is.
  if (code === 'ENOENT' && !isReadyFile && !isBelow(path.resolve(dataDir), at)) return error;
  const setting = isReadyFile ? 'readyFile' : 'dataDir';
  const [meaning, remedy] = known;
  const value = isReadyFile ? readyFile : dataDir;
  return new Error(
    `${setting} is ${value}: ${at} cannot be used, since ${meaning} (${code}). ` +
      `${remedy}, or set --${flagOf(setting)} (${environmentNameOf(setting)}) to another path.`,
  );
}

function isBelow(at: string, directory: string): boolean {
  return at === directory || at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep);
}
