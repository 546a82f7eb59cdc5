// Packs `quotebook` (server and command line) and `@quotebook/client` (the client alone) from the build into tarballs.
// Fails where the build is absent: no hook makes one, because scripts are not run at all here (`.npmrc`).
//   node scripts/pack.mjs [--build=dist] [--out=dist/packages]
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import ts from 'typescript';

const { values } = parseArgs({
  options: {
    build: { type: 'string', default: 'dist' },
    out: { type: 'string', default: 'dist/packages' },
  },
});
const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');
const built = path.resolve(values.build);
const out = path.resolve(values.out);
const readJson = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));
const service = readJson('package.json');

const BUILT = ['src/cli/quotebook.js', 'src/client/node.js', 'src/client/node.d.ts', 'web/app.js', 'web/redoc.js'];
const absent = BUILT.filter((file) => !existsSync(path.join(built, file)));
if (absent.length > 0) {
  console.error(`There is no build: ${absent.join(', ')} absent in ${values.build}. Run npm run build first.`);
  process.exit(1);
}
mkdirSync(out, { recursive: true });
console.log(packService());
console.log(await packClient());

function packService() {
  const stage = stageFor('quotebook');
  cpSync(path.join(built, 'src'), path.join(stage, 'dist/src'), { recursive: true });
  cpSync(path.join(built, 'web'), path.join(stage, 'dist/web'), { recursive: true });
  for (const each of ['contracts/artifacts', 'examples', 'README.md']) {
    cpSync(path.join(root, each), path.join(stage, each), { recursive: true });
  }
  const published = { ...service };
  // Of use in a clone alone.
  for (const each of ['private', 'scripts', 'devDependencies']) delete published[each];
  return pack(stage, {
    ...published,
    keywords: ['orderbook', 'options', 'websocket', 'premia', 'defi', 'ethereum'],
    files: ['dist', 'contracts', 'examples'],
    publishConfig: { access: 'public', provenance: true },
  });
}

async function packClient() {
  const stage = stageFor('client');
  const external = ['@msgpack/msgpack', 'viem', 'viem/*', 'ws'];
  for (const [entry, platform, name] of [
    ['node', 'node', 'node'],
    ['browser', 'browser', 'browser'],
    ['trading/exports', 'neutral', 'trading'],
  ]) {
    await build({
      entryPoints: [path.join(built, `src/client/${entry}.js`)],
      outfile: path.join(stage, `dist/${name}.js`),
      bundle: true,
      format: 'esm',
      platform,
      target: 'es2022',
      external,
      legalComments: 'none',
      logLevel: 'warning',
    });
  }
  for (const [file, text] of declarations(['client/node', 'client/browser', 'client/trading/exports'])) {
    const target = path.join(stage, 'dist', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  cpSync(path.join(root, 'packages/client/README.md'), path.join(stage, 'README.md'));
  const { '@msgpack/msgpack': msgpack, ws, viem } = service.dependencies;
  return pack(stage, {
    ...readJson('packages/client/package.json'),
    version: service.version,
    engines: service.engines,
    dependencies: { '@msgpack/msgpack': msgpack, ws },
    peerDependencies: { viem: `^${viem}` },
  });
}

function stageFor(name) {
  const stage = path.join(out, name);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  cpSync(path.join(root, 'LICENSE'), path.join(stage, 'LICENSE'));
  return stage;
}

/** The repository is that of the clone: npm compares it with where a package with provenance was built. */
function pack(stage, manifest) {
  const repository = originOf(root);
  const whole = { ...manifest, ...(repository !== null && { repository: { type: 'git', url: repository } }) };
  writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(whole, null, 2)}\n`);
  const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', out], { cwd: stage, encoding: 'utf8' });
  const [{ filename }] = JSON.parse(packed);
  return path.join(out, filename);
}

function originOf(directory) {
  try {
    const url = execFileSync('git', ['config', '--get', 'remote.origin.url'], {
      cwd: directory,
      encoding: 'utf8',
    }).trim();
    return /^(https|git|ssh):/.test(url) ? url : null;
  } catch {
    return null;
  }
}

/**
 * The declarations that the entries reach, by file. Types of messages are made from schemas by `typebox`, which is larger
 * than all else that a client installs: they are written out, and the schemas themselves left out.
 */
function declarations(entries) {
  const names = entries.map((entry) => path.join(built, 'src', `${entry}.d.ts`));
  const program = ts.createProgram(names, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: [],
    strict: true,
    noEmit: true,
  });
  const checker = program.getTypeChecker();
  const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(`${path.join(built, 'src')}/`));
  return own.map((source) => {
    const file = path.relative(path.join(built, 'src'), source.fileName);
    const text = source.text.replace(/^\/\/# sourceMappingURL=.*$/m, '');
    return [file, /from 'typebox'/.test(text) ? withoutSchemas(source, checker) : text];
  });
}

function withoutSchemas(source, checker) {
  const printer = ts.createPrinter({ removeComments: false });
  const flags = ts.NodeBuilderFlags.NoTruncation | ts.NodeBuilderFlags.InTypeAlias;
  const kept = [];
  for (const statement of source.statements) {
    if (!ts.isTypeAliasDeclaration(statement) && !ts.isInterfaceDeclaration(statement)) continue;
    if (ts.isInterfaceDeclaration(statement) || statement.typeParameters !== undefined) {
      kept.push(statement.getText(source));
      continue;
    }
    const node = checker.typeToTypeNode(checker.getTypeAtLocation(statement.name), statement, flags);
    const written = printer.printNode(ts.EmitHint.Unspecified, node, source);
    kept.push(`export type ${statement.name.text} = ${written};`);
  }
  return `${kept.join('\n')}\nexport {};\n`;
}
