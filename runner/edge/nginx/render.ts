/**
 * Makes the files of nginx, each as a whole. All paths in them are relative to the folder in which nginx
 * runs, so that nothing but checked names, ids, addresses and ports gets into them.
 */
import { isIPv6 } from 'node:net';
import type { Site, SiteName, Upstream } from '../site.ts';

export interface Listening {
  httpPort: number;
  httpsPort: number;
  /** It listens on this address alone; absent: on all. */
  address?: string;
  /** The machine has IPv6. */
  hasIPv6: boolean;
}

export interface MainFile extends Listening {
  /** The user of the workers; nginx takes one only where root starts it. */
  user?: string;
  pidFile: string;
  /** Pattern of the files of sites. */
  sites: string;
}

/** The certificate of a name that can be served: path from the folder of nginx, and what tells it apart. */
export interface ServedCertificate {
  path: string;
  serial: string;
}

export const CHALLENGE_PATH = '/.well-known/acme-challenge/';
/** Old workers get so long to finish what they serve. */
export const DRAIN_MS = 30_000;

export function renderMain(main: MainFile): string {
  return `# Written by svc-runner, which replaces it.
${main.user === undefined ? '' : `user ${main.user};\n`}worker_processes auto;
worker_rlimit_nofile 16384;
worker_shutdown_timeout ${DRAIN_MS / 1_000}s;
pid ${main.pidFile};
error_log logs/error.log warn;
events {
  worker_connections 4096;
}
http {
${LOG}${HTTP}
  server {
${listenLines(main, main.httpPort, ' default_server')}
    server_name _;
    set $svc_environment '';
    return 421;
  }
  server {
${listenLines(main, main.httpsPort, ' ssl http2 default_server')}
    server_name _;
    set $svc_environment '';
    ssl_reject_handshake on;
    return 421;
  }
  include ${main.sites};
}
`;
}

/** The environment comes first: a line that is too long to be read whole still says whose it is. */
const LOG = `  log_format svc escape=json '{"env":"$svc_environment","t":"$msec","a":"$remote_addr","m":"$request_method",'
    '"h":"$host","s":"$status","b":"$body_bytes_sent","d":"$request_time","u":"$http_user_agent","p":"$request_uri"}';
  access_log logs/access.log svc;
  uninitialized_variable_warn off;
`;

/**
 * Every site takes these over. Headers by which a proxy speaks of its client are set and never appended to,
 * so that a client cannot speak in its place; `$host` is the name by which the site was found, whatever else
 * the header says.
 */
const HTTP = `  default_type application/octet-stream;
  server_tokens off;
  server_names_hash_max_size 16384;
  server_names_hash_bucket_size 512;
  client_body_temp_path temp/body;
  proxy_temp_path temp/proxy;
  fastcgi_temp_path temp/fastcgi;
  uwsgi_temp_path temp/uwsgi;
  scgi_temp_path temp/scgi;

  client_header_timeout 15s;
  client_body_timeout 60s;
  send_timeout 60s;
  keepalive_timeout 65s;
  client_max_body_size 1g;
  large_client_header_buffers 4 16k;

  ssl_protocols TLSv1.2 TLSv1.3;
  ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20;
  ssl_session_cache shared:svc:10m;
  ssl_session_timeout 1d;
  ssl_session_tickets off;

  map $http_upgrade $svc_connection {
    default upgrade;
    '' '';
  }
  proxy_http_version 1.1;
  proxy_request_buffering off;
  proxy_buffering off;
  proxy_connect_timeout 5s;
  proxy_send_timeout 60s;
  proxy_read_timeout 300s;
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header X-Forwarded-Host $host;
  proxy_set_header X-Forwarded-Port $server_port;
  proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header Forwarded '';
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $svc_connection;
`;

export function renderSite(
  site: Site,
  listening: Listening,
  certificateOf: (name: string) => ServedCertificate | undefined,
): string {
  const servers = site.names.flatMap((name) => {
    const certificate = name.ssl ? certificateOf(name.name) : undefined;
    const one = { site, name, listening, ...(certificate === undefined ? {} : { certificate }) };
    return [plainServer(one), ...(certificate === undefined ? [] : [tlsServer(one, certificate)])];
  });
  return `# Written by svc-runner, which replaces it.\n${servers.join('')}`;
}

interface Server {
  site: Site;
  name: SiteName;
  listening: Listening;
  certificate?: ServedCertificate;
}

function plainServer({ site, name, listening, certificate }: Server): string {
  return `server {
${listenLines(listening, listening.httpPort)}
${headLines(site, name)}
  location ^~ ${CHALLENGE_PATH} {
    location ~ "^${CHALLENGE_PATH.replaceAll('.', String.raw`\.`)}[A-Za-z0-9_-]{20,}$" {
      root challenges;
      disable_symlinks on;
      default_type text/plain;
    }
    return 404;
  }
  location / {
${certificate === undefined ? appLines(site.upstream) : `    return 308 https://$host${suffixOf(listening)}$request_uri;`}
  }
}
`;
}

/** The serial makes this text, and so a reload, of each new certificate. */
function tlsServer({ site, name, listening }: Server, certificate: ServedCertificate): string {
  return `server {
${listenLines(listening, listening.httpsPort, ' ssl http2')}
${headLines(site, name)}
  # Serial ${certificate.serial}.
  ssl_certificate ${certificate.path};
  ssl_certificate_key ${certificate.path};
  location / {
${appLines(site.upstream)}
  }
}
`;
}

function headLines({ environmentId }: Site, { name }: SiteName): string {
  return `  server_name ${name};\n  set $svc_environment ${environmentId};`;
}

function appLines(upstream: Upstream | undefined): string {
  if (upstream === undefined) return '    add_header Retry-After 10 always;\n    return 503;';
  const host = isIPv6(upstream.host) ? `[${upstream.host}]` : upstream.host;
  return `    proxy_pass http://${host}:${upstream.port};`;
}

function suffixOf({ httpsPort }: Listening): string {
  return httpsPort === 443 ? '' : `:${httpsPort}`;
}

function listenLines({ address, hasIPv6 }: Listening, port: number, more = ''): string {
  const all = hasIPv6 ? [`${port}`, `[::]:${port}`] : [`${port}`];
  const own = address === undefined ? all : [isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`];
  return own.map((where) => `  listen ${where}${more};`).join('\n');
}
