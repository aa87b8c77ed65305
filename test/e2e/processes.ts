/** Starts the product's own programs as processes, the way a user does, and stops every one of them again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const root = new URL('../..', import.meta.url).pathname;

export interface Program {
  readonly child: ChildProcess;
  /** Everything it has printed so far, both streams. */
  output(): string;
  /** First match in what it prints; rejects with all it printed when it ends first or takes too long. */
  says(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  readonly exited: Promise<number | null>;
}

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

export function startProgram(
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Program {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const listeners = new Set<() => void>();
  const hear = (data: Buffer) => {
    printed += data.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const exited = once(child, 'exit').then(([code]) => {
    for (const listener of listeners) listener();
    return code as number | null;
  });

  const says = (pattern: RegExp, withinMs = 30_000) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const finish = (act: () => void) => {
        clearTimeout(timer);
        listeners.delete(look);
        act();
      };
      const look = () => {
        const match = pattern.exec(printed);
        if (match !== null) finish(() => resolve(match));
        else if (child.exitCode !== null)
          finish(() =>
            reject(new Error(`${script} ended with ${child.exitCode} before saying ${pattern}:\n${printed}`)),
          );
      };
      const timer = setTimeout(
        () =>
          finish(() =>
            reject(new Error(`${script} did not say ${pattern} within ${withinMs} ms:\n${printed}`)),
          ),
        withinMs,
      );
      listeners.add(look);
      look();
    });

  return {
    child,
    output: () => printed,
    says,
    exited,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return await exited;
    },
  };
}
