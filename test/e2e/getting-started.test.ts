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
import { watch } from './processes.ts';

const root = new URL('../..', import.meta.url).pathname;
const page = 'docs/getting-started.md';
const blocks = blocksOf({ path: page, text: readFileSync(join(root, page), 'utf8') });
const scriptOf = (info: string): string =>
  blocks
    .filter((block) => block.info === info)
    .map(({ text }) => text.replaceAll(/^npm ci$/gm, ''))
    .join('\n');

/** A page that leads to a run takes minutes on a busy machine. */
const SAYS_MS = 300_000;

function openTerminal(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  // A process group of its own, because npm hands no signal down to what it has started.
  const child = spawn('bash', ['-eu', '-c', script], { cwd, env, detached: true });
  const watched = watch(child, 'the terminal', 'close');
  return {
    ...watched,
    stop: async (): Promise<void> => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
      await watched.exited;
    },
  };
}
type Terminal = ReturnType<typeof openTerminal>;

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
    await open('sh server').says(/^listening on http/m, SAYS_MS);
    const shell = open('sh');
    // The page starts the runner after it was enrolled. A run that is submitted before waits for it.
    await shell.says(/^enrolled machine-a/m, SAYS_MS);
    const runner = open('sh runner');
    const code = await Promise.race([
      shell.exited,
      runner.exited.then(() => Promise.reject(new Error(`the runner ended:\n${runner.output()}`))),
    ]);
    expect(code, shell.output()).toBe(0);
    expect(shell.output()).toMatch(/^hello from the sandbox$/m);
    expect(shell.output()).toMatch(/^run_\w+\tsucceeded\texit\t0\tmachine-a/m);
    expect(shell.output()).toMatch(/^rnr_\w+\tmachine-a\tlive/m);
  });
});
