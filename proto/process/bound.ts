/** Says what a process listens on, in words and as addresses to call it by. */
import { isIPv6 } from 'node:net';
import { ConfigError } from './settings.ts';

const EVERY: ReadonlySet<string> = new Set(['0.0.0.0', '::', '0:0:0:0:0:0:0:0']);
const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

const bracketed = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Returns the URL at which a caller on this machine reaches it. */
export function boundUrl(host: string, port: number): string {
  return `http://${bracketed(EVERY.has(host) ? '127.0.0.1' : host)}:${port}`;
}

const HOST_CODES: ReadonlySet<unknown> = new Set(
  'EADDRNOTAVAIL EAFNOSUPPORT EAI_AGAIN EINVAL ENOTFOUND'.split(' '),
);
const PORT_CODES: ReadonlySet<unknown> = new Set(['EACCES', 'EADDRINUSE']);

interface Listening {
  readonly host: string;
  readonly port: number;
  /** Settings that these come from. */
  readonly names: readonly [host: string, port: string];
}

/** Waits for what listens; where it cannot, throws a ConfigError that names the setting. */
export async function orWrongSetting<T>(listening: Promise<T>, { host, port, names }: Listening): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const [hostName, portName] = names;
    if (HOST_CODES.has(error.code))
      throw new ConfigError([
        `${hostName} is "${host}", expected an address or a name of this machine: ${error.message}`,
      ]);
    if (PORT_CODES.has(error.code))
      throw new ConfigError([
        `${portName} is ${port}, expected a port of ${host} that is free and allowed: ${error.message}`,
      ]);
    throw error;
  }
}

/** Says for people who can reach the address, as in `127.0.0.1:8080, this machine alone`. */
export function boundWords(host: string, port: number): string {
  const where = `${bracketed(host)}:${port}`;
  if (EVERY.has(host)) return `${where}, every address of this machine`;
  return LOOPBACK.includes(host) || host.startsWith('127.') ? `${where}, this machine alone` : where;
}

/**
 * Every address that this process itself knows to be its own: the one to call it by first, then the loopback
 * names.
 */
export function boundUrls(host: string, port: number): readonly string[] {
  return [...new Set([boundUrl(host, port), ...LOOPBACK.map((name) => boundUrl(name, port))])];
}
