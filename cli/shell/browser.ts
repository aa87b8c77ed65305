/** Starts the browser of the person at this machine. */
import { spawn } from 'node:child_process';
import type { Io } from './io.ts';

/** The program that opens an address; nothing where nobody would see the browser. */
export function browserOf(env: Io['env'], platform: string): readonly string[] | undefined {
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  if (['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY'].some(isSet)) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['DISPLAY', 'WAYLAND_DISPLAY'].some(isSet) ? ['xdg-open'] : undefined;
}

/** Tells if it was started. No shell reads the address, which is one word. */
export async function browse(url: string, env: Io['env'], platform: string): Promise<boolean> {
  const [program, ...words] = browserOf(env, platform) ?? [];
  if (program === undefined) return false;
  const child = spawn(program, [...words, url], { detached: true, stdio: 'ignore' });
  child.unref();
  return await new Promise((resolve) => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
  });
}
