/** The program as it is shipped: bundled once per test file, run as its own process. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll } from 'vitest';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Sends SIGINT as soon as the text was seen on standard output or standard error. */
  readonly interruptAt?: string;
  /** Input of a person, each after its text was seen. */
  readonly typed?: readonly { readonly after: string; readonly keys: string }[];
}

export interface BundledCli {
  readonly main: string;
  /** A folder of its own, empty at first: also home and XDG_CONFIG_HOME of the processes. */
  readonly folder: string;
  run(words: readonly string[], options?: RunOptions): Promise<Ended>;
  /** A command line of the shell, with `svc` defined. */
  shell(line: string, options?: RunOptions): Promise<Ended>;
  /** Runs it on a terminal of its own, whose output is all in `stdout`. */
  terminal(words: readonly string[], options?: RunOptions): Promise<Ended>;
  remove(): Promise<void>;
}

const root = new URL('../..', import.meta.url).pathname;

export async function bundleCli(): Promise<BundledCli> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cli-'));
  await mkdir(join(folder, 'dist'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'cli/main.ts', out: 'main' },
      { in: 'cli/jq/jq.worker.ts', out: 'jq.worker' },
    ],
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    conditions: ['source'],
    // As build.mjs has it.
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
    logLevel: 'warning',
  });
  const main = join(folder, 'dist', 'main.js');
  const start = (program: string, words: readonly string[], options: RunOptions = {}): Promise<Ended> =>
    ended({ program, words, folder }, options);
  return {
    main,
    folder,
    run: (words, options) => start(process.execPath, [main, ...words], options),
    shell: (line, options) =>
      start('bash', ['-c', `svc() { ${quote(process.execPath)} ${quote(main)} "$@"; }\n${line}`], options),
    terminal: (words, options) =>
      start(
        'script',
        ['-qec', [process.execPath, main, ...words].map(quote).join(' '), '/dev/null'],
        options,
      ),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Bundles it for the tests of a file, at whose end it is removed. */
export async function useBundledCli(): Promise<BundledCli> {
  const cli = await bundleCli();
  afterAll(() => cli.remove());
  return cli;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function ended(
  {
    program,
    words,
    folder,
  }: { readonly program: string; readonly words: readonly string[]; readonly folder: string },
  options: RunOptions,
): Promise<Ended> {
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], HOME: folder, XDG_CONFIG_HOME: folder, TERM: 'xterm', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const typed = [...(options.typed ?? [])];
  let seenUpTo = 0;
  const look = (): void => {
    const at = typed[0] === undefined ? -1 : stdout.indexOf(typed[0].after, seenUpTo);
    if (at !== -1) {
      seenUpTo = stdout.length;
      child.stdin.write(typed.shift()?.keys ?? '');
    }
    if (options.interruptAt !== undefined && (stdout + stderr).includes(options.interruptAt))
      child.kill('SIGINT');
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    look();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    look();
  });
  // A program that does not read its input closes it.
  child.stdin.on('error', () => undefined);
  if (options.typed === undefined) child.stdin.end(options.input ?? '');
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
