/**
 * docs/getting-started.md as it stands. Blocks marked `sh server` and `sh runner` are typed into terminals of
 * their own, all others into one shell, in the order of the page. The folder is a clone of links, so that
 * `.svc` is a new one. What the environment settles: a free port, a fresh database instead of one that is
 * made first, namespaces instead of containers, and that `npm ci` has been done.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf } from '../docs/markdown.ts';
import { createEmptyDatabase } from '../setup/database.ts';
import { has } from '../setup/needs.ts';

const root = new URL('../..', import.meta.url).pathname;
const page = 'docs/getting-started.md';
const blocks = blocksOf({ path: page, text: readFileSync(join(root, page), 'utf8') });
const scriptOf = (info: string): string =>
  blocks
    .filter((block) => block.info === info)
    .map(({ text }) => text.replaceAll(/^npm ci$/gm, ''))
    .join('\n');

interface Terminal {
  readonly ended: Promise<number | null>;
  output(): string;
  /** Resolves with what the pattern found; rejects when the program ends without it. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<void>;
}

function openTerminal(script: string, cwd: string, env: NodeJS.ProcessEnv): Terminal {
  // A process group of its own, because npm hands no signal down to what it has started.
  const child = spawn('bash', ['-eu', '-c', script], { cwd, env, detached: true });
  let printed = '';
  const watchers = new Set<() => void>();
  const notify = (): void => watchers.forEach((watcher) => watcher());
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      printed += data.toString();
      notify();
    });
  let over = false;
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      over = true;
      notify();
      resolve(code);
    }),
  );
  return {
    ended,
    output: () => printed,
    says: async (pattern) =>
      await new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(printed);
          if (match === null && !over) return;
          watchers.delete(look);
          if (match === null) reject(new Error(`ended without printing ${pattern}:\n${printed}`));
          else resolve(match);
        };
        watchers.add(look);
        look();
      }),
    stop: async () => {
      if (!over && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await ended;
    },
  };
}

describe.skipIf(!((await has('postgres')) && (await has('namespaces'))))('getting started', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-started-'));
  const terminals: Terminal[] = [];
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;

  const open = (info: string): Terminal => {
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      PORT: '0',
      DATABASE_URL: database.url,
      SVC_RUNNER_EXECUTOR: 'namespaces',
    };
    const terminal = openTerminal(scriptOf(info), folder, env);
    terminals.push(terminal);
    return terminal;
  };

  beforeAll(async () => {
    for (const name of readdirSync(root))
      if (name !== '.svc') symlinkSync(join(root, name), join(folder, name));
    database = await createEmptyDatabase();
  });
  afterAll(async () => {
    for (const terminal of terminals.toReversed()) await terminal.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('leads from a clone to a run that succeeded', async () => {
    await open('sh server').says(/^listening on http/m);
    const shell = open('sh');
    // The page starts the runner after it was enrolled. A run that is submitted before waits for it.
    await shell.says(/^enrolled machine-a/m);
    const runner = open('sh runner');
    const code = await Promise.race([
      shell.ended,
      runner.ended.then(() => Promise.reject(new Error(`the runner ended:\n${runner.output()}`))),
    ]);
    expect(code, shell.output()).toBe(0);
    expect(shell.output()).toMatch(/^hello from the sandbox$/m);
    expect(shell.output()).toMatch(/^run_\w+\tsucceeded\texit\t0\tmachine-a/m);
    expect(shell.output()).toMatch(/^rnr_\w+\tmachine-a\tlive/m);
  });
});
