#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { PACKAGE_VERSION } from '../system/package-version.js';
import { backupCommand, restoreCommand, upgradeCommand } from './backup.js';
import { clusterCommand } from './cluster.js';
import { completionsCommand } from './completions.js';
import { doctorCommand } from './doctor.js';
import { keysCommand } from './keys.js';
import { logCommand } from './log.js';
import { accountCommand, bookCommand, chainCommand, statusCommand, watchCommand } from './read.js';
import { type CliCommand, EXIT_FAILED, EXIT_OK, runCommand, withCommand } from './run.js';
import { configCommand, serveCommand } from './serve.js';
import { tradeCommands } from './trade.js';
import { verifyBookCommand } from './verify-book.js';

/** The service and its native modules are loaded by the one command that needs them. */
const serve = serveCommand(async (settings, reread) => {
  const { runService } = await import('../main.js');
  await runService(settings, reread);
});

const commands: readonly [CliCommand, ...CliCommand[]] = [
  serve,
  keysCommand,
  configCommand,
  doctorCommand,
  logCommand,
  backupCommand,
  restoreCommand,
  upgradeCommand,
  clusterCommand,
  statusCommand,
  chainCommand,
  bookCommand,
  watchCommand,
  accountCommand,
  ...tradeCommands,
  completionsCommand(() => commands),
  verifyBookCommand,
];

const words = withCommand(process.argv.slice(2), commands);
const [command] = words;
// A reader that has read enough, as in `log dump DIR | head`, closes the pipe: the command ends. A service keeps running
// without its console, and with a full disk behind the file that its output goes to.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (command === serve.name) return;
  if (error.code === 'EPIPE') process.exit(EXIT_OK);
  process.stderr.write(`quotebook: the output could not be written: ${error.message}\n`);
  process.exit(EXIT_FAILED);
});

process.exitCode = await runCommand(words, commands, PACKAGE_VERSION, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  environment: process.env,
  readText: (path) => readFile(path, 'utf8'),
  ...(process.stderr.isTTY && { showStatus: (text: string) => process.stderr.write(`\r\x1b[K${text}`) }),
});
// By then all is closed, and what a service may have left under way concerns nobody any more: a request to a node that
// leaves it unanswered has up to four times ten seconds.
if (command === serve.name) process.exit();
