/**
 * Reads this user's own login at a registry from the files that podman login and docker login write. A
 * credential helper is named, not run.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Credentials {
  username: string;
  password: string;
  /** The file that holds them. */
  source: string;
}

export async function credentialsFor(host: string, env: NodeJS.ProcessEnv): Promise<Credentials | undefined> {
  for (const path of places(env)) {
    const auth = await authIn(path, host);
    if (auth === undefined) continue;
    const text = Buffer.from(auth, 'base64').toString();
    const colon = text.indexOf(':');
    if (colon > 0) return { username: text.slice(0, colon), password: text.slice(colon + 1), source: path };
  }
  return undefined;
}

function places(env: NodeJS.ProcessEnv): string[] {
  const home = env['HOME'] || homedir();
  return [
    env['REGISTRY_AUTH_FILE'],
    env['XDG_RUNTIME_DIR'] && join(env['XDG_RUNTIME_DIR'], 'containers', 'auth.json'),
    // This is podman's default for root without a session.
    process.getuid?.() === 0 ? '/run/containers/0/auth.json' : undefined,
    join(home, '.config', 'containers', 'auth.json'),
    join(env['DOCKER_CONFIG'] || join(home, '.docker'), 'config.json'),
  ].filter((path) => path !== undefined && path !== '') as string[];
}

async function authIn(path: string, host: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined; // Most of the places do not exist.
  }
  try {
    const { auths } = JSON.parse(text) as { auths?: Record<string, { auth?: unknown }> };
    const auth = auths?.[host]?.auth;
    return typeof auth === 'string' && auth !== '' ? auth : undefined;
  } catch {
    return undefined; // The file is unreadable: the engine will report that when it needs it.
  }
}
