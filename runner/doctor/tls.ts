/** Examines the certificate of a server: its issuer, whether it is trusted here, its expiry. */
import type { Socket } from 'node:net';
import { connect, rootCertificates, type DetailedPeerCertificate } from 'node:tls';
import { askForTunnel } from '@svc/proto/proxy/outbound.ts';
import { type Finding, fail, ok, warn } from './check.ts';
import { errorText } from '../platform/errors.ts';

/** Renewal is commonly automatic at 30 days; below this it has failed. */
const EXPIRY_DAYS_WARN = 14;
const DAY_MS = 86_400_000;
const CHAIN_MAX = 10;

export const TLS_ADVICE = "the certificate is not trusted here: give the authority's PEM with --ca-file";

export interface TlsOptions {
  url: URL;
  proxy: URL | undefined;
  /** PEM text of authorities besides the usual ones. */
  ca: string | undefined;
  timeoutMs: number;
}

export async function lookAtTls(options: TlsOptions): Promise<Finding> {
  const { url, ca } = options;
  let shown: Shown;
  try {
    shown = await handshake(options);
  } catch (error) {
    return fail(
      `no TLS with ${url.host}: ${errorText(error)}`,
      'is that address served by https, and does a proxy let it through?',
    );
  }
  const names = chainOf(shown.certificate);
  const daysLeft = Math.floor((Date.parse(shown.certificate.valid_to) - Date.now()) / DAY_MS);
  const trust = ca === undefined ? 'the usual authorities' : 'the usual authorities and --ca-file';
  const found = `${shown.protocol}, ${names.join(' ← ')}, valid until ${new Date(shown.certificate.valid_to).toISOString().slice(0, 10)}`;
  if (shown.problem !== undefined) return fail(`${found}: ${shown.problem}`, adviceFor(shown.problem));
  if (daysLeft < EXPIRY_DAYS_WARN)
    return warn(
      `${found}, in ${daysLeft} days`,
      'whoever runs the control plane should renew it before then',
    );
  return ok(`${found}, trusted by ${trust}`);
}

function adviceFor(problem: string): string {
  if (problem.includes('CERT_HAS_EXPIRED'))
    return "the certificate must be renewed; or is this machine's clock right?";
  if (problem.includes('CERT_NOT_YET_VALID')) return "is this machine's clock right?";
  if (problem.includes('ALTNAME')) return 'the certificate is for other names; use one of them as base url';
  return TLS_ADVICE;
}

interface Shown {
  protocol: string;
  certificate: DetailedPeerCertificate;
  /** The reason why it is not trusted. */
  problem: string | undefined;
}

async function handshake(options: TlsOptions): Promise<Shown> {
  const { url, proxy, ca, timeoutMs } = options;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || 443);
  const tunnel = proxy === undefined ? undefined : await openTunnel(proxy, options);
  return await new Promise((resolve, reject) => {
    const socket = connect({
      ...(tunnel === undefined ? { host, port } : { socket: tunnel }),
      // A server name is sent for names only, not for addresses.
      ...(/^[\d.]+$|:/.test(host) ? { host } : { servername: host }),
      // The certificate is examined only: nothing is sent over this connection.
      rejectUnauthorized: false,
      ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerCertificate(true);
      const problem = socket.authorized ? undefined : String(socket.authorizationError);
      resolve({ protocol: socket.getProtocol() ?? 'TLS', certificate, problem });
      socket.destroy();
    });
  });
}

async function openTunnel(proxy: URL, { url, ca, timeoutMs }: TlsOptions): Promise<Socket> {
  const authority = `${url.hostname}:${url.port || 443}`;
  return await new Promise((resolve, reject) => {
    const asking = askForTunnel(proxy, authority, {
      timeout: timeoutMs,
      ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    });
    asking.once('timeout', () => asking.destroy(new Error(`proxy ${proxy.host} did not answer`)));
    asking.once('error', reject);
    asking.once('connect', (reply, socket) => {
      if (reply.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`proxy ${proxy.host} answered ${reply.statusCode} to CONNECT ${authority}`));
    });
    asking.end();
  });
}

/** Names from the server's own certificate up to the root, which issued itself. */
function chainOf(leaf: DetailedPeerCertificate): string[] {
  const names: string[] = [];
  let at: DetailedPeerCertificate | undefined = leaf;
  while (at !== undefined && names.length < CHAIN_MAX) {
    names.push(nameOf(at.subject));
    const issuer: DetailedPeerCertificate | undefined = at.issuerCertificate;
    if (issuer === undefined || issuer.fingerprint256 === at.fingerprint256) {
      if (issuer === undefined) names.push(`(${nameOf(at.issuer)}, not sent)`);
      break;
    }
    at = issuer;
  }
  return names;
}

function nameOf(subject: { CN?: string | string[]; O?: string | string[] } | undefined): string {
  return String(subject?.CN ?? subject?.O ?? 'without a name');
}
