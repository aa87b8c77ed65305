/** Starts the product's own programs as processes, the way a user does, and stops every one of them again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const root = new URL('../..', import.meta.url).pathname;

export type Program = ReturnType<typeof startProgram>;

/**
 * Returns the environment that a program under test is given: this one's, less what would make it read
 * another installation's settings.
 */
function cleanEnvironment(extra: Record<string, string>): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(DATABASE_URL|AMQP_URL|PORT|SVC_|VITEST|NODE_OPTIONS)/.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...extra };
}

export function startProgram(script: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const watched = watch(child, script);
  return {
    ...watched,
    child: child as ChildProcess,
    /** Sends the signal and waits for the end. */
    stop: async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return await watched.exited;
    },
  };
}

/**
 * Keeps what a process prints. It has ended at its `exit`, or at its `close`: when whoever inherited its
 * output has ended too.
 */
export function watch(child: ChildProcess, name: string, end: 'exit' | 'close' = 'exit') {
  let printed = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  const tell = (): void => listeners.forEach((listener) => listener());
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => {
      printed += data.toString();
      tell();
    });
  const exited = once(child, end).then(([code]) => {
    isOver = true;
    tell();
    return code as number | null;
  });
  return {
    exited,
    /** Returns everything it has printed so far, both streams. */
    output: (): string => printed,
    /** Returns the first match in what it prints. It rejects with all that when it ends or takes too long. */
    says: async (pattern: RegExp, withinMs = 30_000): Promise<RegExpExecArray> =>
      await new Promise((resolve, reject) => {
        const finish = (act: () => void): void => {
          clearTimeout(timer);
          listeners.delete(look);
          act();
        };
        const fail = (why: string): void => finish(() => reject(new Error(`${name} ${why}:\n${printed}`)));
        const look = (): void => {
          const match = pattern.exec(printed);
          if (match !== null) finish(() => resolve(match));
          else if (isOver) fail(`ended with ${child.exitCode} before saying ${pattern}`);
        };
        const timer = setTimeout(() => fail(`did not say ${pattern} within ${withinMs} ms`), withinMs);
        listeners.add(look);
        look();
      }),
  };
}
