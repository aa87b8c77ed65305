/** Chooses the proxy of a request by the environment variables that every command-line tool reads. */
import { BlockList, isIP } from 'node:net';

type Env = Readonly<Record<string, string | undefined>>;

export const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'] as const;

/**
 * A name in lower case wins, as it does in curl. `HTTP_PROXY` in upper case is honoured too: no CGI sets it
 * here.
 */
function variable(env: Env, name: string): string | undefined {
  return env[name.toLowerCase()] || env[name] || undefined;
}

/** Some proxy is named, for whatever requests. */
export function namesProxy(env: Env): boolean {
  return PROXY_VARIABLES.some((name) => variable(env, name) !== undefined);
}

/**
 * Returns undefined for a direct connection. Throws a RangeError when the variable holds no http(s) URL; its
 * text is not repeated: it may hold a password.
 */
export function proxyFor(url: URL, env: Env): URL | undefined {
  const own = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const name = variable(env, own) === undefined ? 'ALL_PROXY' : own;
  const text = variable(env, name);
  if (text === undefined || isExempt(url, variable(env, 'NO_PROXY'))) return undefined;
  const proxy = parseUrl(text.includes('://') ? text : `http://${text}`);
  if (proxy === undefined || (proxy.protocol !== 'http:' && proxy.protocol !== 'https:')) {
    throw new RangeError(`${name} is not an http or https URL`);
  }
  if (decoded(proxy.username) === undefined || decoded(proxy.password) === undefined)
    throw new RangeError(`the user name or password in ${name} is not percent-encoded`);
  return proxy;
}

/** `Proxy-Authorization` when the proxy's URL carries a user name. */
export function proxyHeaders(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  const credentials = `${decoded(proxy.username) ?? ''}:${decoded(proxy.password) ?? ''}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Entries of NO_PROXY that exempt nothing because nobody knows what they mean. */
export function unknownExemptions(env: Env): string[] {
  return entriesOf(variable(env, 'NO_PROXY') ?? '').filter((entry) => parseExemption(entry) === undefined);
}

interface Target {
  /** Lower case, an address without brackets. */
  readonly host: string;
  readonly port: string;
}

type Matches = (host: string) => boolean;

function isExempt(url: URL, list: string | undefined): boolean {
  if (list === undefined) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const target = { host, port: url.port || (url.protocol === 'https:' ? '443' : '80') };
  return entriesOf(list).some((entry) => parseExemption(entry)?.(target) === true);
}

function entriesOf(list: string): string[] {
  return list.split(/[\s,]+/).filter((entry) => entry !== '');
}

/**
 * `*`, a host name, a domain with or without a leading dot, an address, a network (`10.0.0.0/8`, `fd00::/8`),
 * or any of these with stars (`127.*`), each but a network with an optional port.
 */
function parseExemption(entry: string): ((target: Target) => boolean) | undefined {
  if (entry === '*') return () => true;
  // An IPv6 address has colons of its own; with a port it stands in brackets.
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^[\]]*?))(?::(\d+))?$/.exec(entry) ?? [];
  const isBare = isIP(entry) === 6 || /^[\da-f:.]+\/\d+$/i.test(entry);
  const name = (isBare ? entry : (bracketed ?? plain ?? '')).toLowerCase();
  const matches = name.includes('/') ? networkOf(name) : name.includes('*') ? patternOf(name) : hostOf(name);
  if (matches === undefined) return undefined;
  const only = isBare ? undefined : port;
  return (target) => (only === undefined || only === target.port) && matches(target.host);
}

function networkOf(text: string): Matches | undefined {
  const [, address = '', prefix = ''] = /^(.+)\/(\d+)$/.exec(text) ?? [];
  const version = isIP(address);
  const bits = Number(prefix);
  if (version === 0 || prefix === '' || bits > (version === 4 ? 32 : 128)) return undefined;
  const network = new BlockList();
  network.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) !== 0 && network.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

/**
 * A star in front of a dot is the domain itself and what is below it; any other stands for any characters.
 */
function patternOf(text: string): Matches | undefined {
  const domain = text.replace(/^\*\./, '');
  if (!domain.includes('*')) return hostOf(`.${domain}`);
  if (!/^[\w.*:-]+$/.test(text)) return undefined;
  const pattern = text.split('*').map((part) => part.replaceAll('.', '\\.'));
  const whole = new RegExp(`^${pattern.join('.*')}$`);
  return (host) => whole.test(host);
}

function hostOf(text: string): Matches | undefined {
  const name = text.replace(/^\./, '').replace(/\.$/, '');
  // As URLs spell it: an IPv6 address at its shortest, a name in letters of ASCII.
  const url = parseUrl(`http://${isIP(name) === 6 ? `[${name}]` : name}`);
  if (url === undefined || url.host === '' || url.port !== '' || url.pathname !== '/' || url.username !== '')
    return undefined;
  const wanted = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(wanted) === 0 && !/^[\w.-]+$/.test(wanted)) return undefined;
  return (host) => host === wanted || (isIP(wanted) === 0 && host.endsWith(`.${wanted}`));
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text has a lone percent sign.
    return undefined;
  }
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
