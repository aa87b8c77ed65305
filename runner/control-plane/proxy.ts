/** Chooses the proxy of a request by the environment variables that every command-line tool reads. */

/** Lower case wins, as in curl. `HTTP_PROXY` in upper case is honoured too: no CGI sets it here. */
function variable(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return env[name.toLowerCase()] || env[name] || undefined;
}

/** Returns undefined for a direct connection. Throws when the variable holds no http(s) URL. */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const text = variable(env, name) ?? variable(env, 'ALL_PROXY');
  if (text === undefined || isExempt(url, variable(env, 'NO_PROXY'))) return undefined;
  const proxy = parseUrl(text.includes('://') ? text : `http://${text}`);
  if (proxy === undefined || (proxy.protocol !== 'http:' && proxy.protocol !== 'https:')) {
    throw new RangeError(`${name} is not an http or https URL`);
  }
  return proxy;
}

/** `Proxy-Authorization` when the proxy's URL carries a user name. */
export function proxyHeaders(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** `*`, a host name, a domain with or without a leading dot, each with an optional port. */
function isExempt(url: URL, list: string | undefined): boolean {
  if (list === undefined) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '') return false;
    if (entry === '*') return true;
    const [, name = '', entryPort] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (entryPort !== undefined && entryPort !== port) return false;
    const domain = name.replace(/^\*?\./, '');
    return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
  });
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
