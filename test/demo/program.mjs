/** A program of the product is started here as a process of the demo. */
import { spawn } from 'node:child_process';

const root = new URL('../..', import.meta.url).pathname;

/** A process that runs 15 s after SIGTERM is killed, so that the demo always ends. */
const STOP_MS = 15_000;

/** Removes what the demo itself was told, because the demo alone passes it on. */
function withoutSettings(environment) {
  const settings = ['DATABASE_URL', 'AMQP_URL', 'PORT'];
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !settings.includes(name)));
}

export function startProgram({ name, script, args = [], env = {} }) {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: { ...withoutSettings(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let code;
  const listeners = new Set();
  const tell = () => listeners.forEach((listener) => listener());
  child.stdout.on('data', (data) => ((printed += data), tell()));
  child.stderr.on('data', (data) => ((printed += data), tell()));
  const exited = new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      code = exitCode ?? signal;
      tell();
      resolve(code);
    });
  });

  return {
    name,
    exited,
    output: () => printed,
    ended: () => code !== undefined,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(printed);
          if (match === null && code === undefined) return;
          listeners.delete(look);
          if (match === null) reject(new Error(`${name} ended with ${code}:\n${printed}`));
          else resolve(match);
        };
        listeners.add(look);
        look();
      }),
    async stop(signal) {
      if (code === undefined) child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
      return code;
    },
  };
}
