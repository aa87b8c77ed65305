/**
 * Knows how the host of a registry is written, and which of them mean the very machine that speaks to them.
 */
/** All of them are one registry. */
const DOCKER_HUB = new Set([
  'docker.io',
  'index.docker.io',
  'registry-1.docker.io',
  'registry.hub.docker.com',
]);
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const HOST_MAX = 253;

export type ParsedHost = { readonly host: string } | { readonly problem: string };

/** The host in the one form in which it is stored and compared: lower case, a port only if it is given. */
export function parseHost(text: string): ParsedHost {
  const lower = text.toLowerCase();
  // Engines such as podman 4.3 take no image whose name begins with `[`.
  if (/^\[|:.*:/.test(lower) && !/[/@]/.test(lower))
    return {
      problem: 'engines do not know IPv6 addresses in the names of images; give the registry a host name',
    };
  const parts = /^(?<name>[^:]*)(?::(?<port>[^:]*))?$/.exec(lower)?.groups;
  if (parts === undefined || /[/@?#\\\s%]/.test(lower))
    return { problem: 'expected a host alone, without scheme, path or user, and with a port if any' };
  const { name = '', port } = parts;
  if (port !== undefined && (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535))
    return { problem: `its port is "${port}", expected 1 to 65535` };
  if (!isName(name)) return { problem: `"${name}" is neither a host name nor an IPv4 address` };
  if (port === undefined && name !== 'localhost' && !name.includes('.'))
    return {
      problem: `"${name}" is one word: in an image's name it would be taken for a namespace of docker.io; add the domain or the port`,
    };
  if (DOCKER_HUB.has(name) && (port === undefined || port === '443')) return { host: 'docker.io' };
  return { host: port === undefined ? name : `${name}:${port}` };
}

function isName(name: string): boolean {
  if (name === '' || name.length > HOST_MAX || !name.split('.').every((label) => LABEL.test(label)))
    return false;
  // What a URL would read as a number in disguise (`127.1`, `0x7f.0.0.1`) comes back changed.
  return URL.canParse(`http://${name}`) && new URL(`http://${name}`).hostname === name;
}

/** Recognises a parsed host that names the machine that connects to it. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?$/.test(host);
}
