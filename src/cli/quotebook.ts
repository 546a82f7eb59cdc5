#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import type { Command } from './command.js';
import { configCommand } from './config.js';
import { keysCommand } from './keys.js';
import { logCommand } from './log.js';
import { runCommand } from './run.js';
import { serveCommand } from './serve.js';

/** The service and its native modules are loaded by the one command that needs them. */
const serve = serveCommand(async (settings, reread) => {
  const { runService } = await import('../main.js');
  await runService(settings, reread);
});

const commands: readonly Command[] = [serve, keysCommand, configCommand, logCommand];

const packageFile = new URL('../../../package.json', import.meta.url);
const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };

process.exitCode = await runCommand(process.argv.slice(2), commands, version, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  environment: process.env,
  readText: (path) => readFile(path, 'utf8'),
});
