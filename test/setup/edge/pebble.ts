/**
 * A real authority (pebble) and the name server that it asks (pebble-challtestsrv), on free ports of
 * loopback. It refuses half of all nonces and asks for the challenge without its usual pause.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { makeCertificates, type Certificates } from '../runner/certificates.ts';
import { freePort } from '../registry.ts';
import { tempDir } from '../runner/temp-dir.ts';
import { whenDone } from '../runner/when-done.ts';
import { answers } from '../needs.ts';
import { waitFor } from '../wait-for.ts';

export interface PebbleOptions {
  /** Port on which it asks for challenges. */
  httpPort: number;
  validitySeconds?: number;
  /** It wants accounts that are bound to one of these: its id and the key in base64url. */
  external?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  /** It asks this name server, `host:port`, in place of its own one. */
  nameServer?: string;
}

export type Pebble = Awaited<ReturnType<typeof startPebble>>;
export type NameServer = Awaited<ReturnType<typeof startNameServer>>;

export async function startPebble(options: PebbleOptions) {
  const folder = tempDir();
  const certificates = makeCertificates();
  const dns = await startNameServer();
  const [port, managementPort] = [await freePort(), await freePort()];
  const config = configOf(options, { folder, certificates, port, managementPort });
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify(config));
  let child: ChildProcess | undefined;
  const stop = async () => await ended(child);
  const start = async () => {
    child = spawn(
      'pebble',
      ['-config', join(folder, 'pebble.json'), '-dnsserver', options.nameServer ?? dns.address],
      {
        stdio: 'ignore',
        env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '50', ...options.env },
      },
    );
    await waitFor('pebble', async () => await answers(`https://127.0.0.1:${port}`));
  };
  whenDone(stop);
  await start();
  return {
    directory: `https://localhost:${port}/dir`,
    /** Authority of its own HTTPS, not of what it issues. */
    certificates,
    dns,
    start,
    stop,
    /** The root of what it issues; another one after each start. */
    root: async () => await textOf(`https://localhost:${managementPort}/roots/0`, certificates.ca),
  };
}

interface Place {
  folder: string;
  certificates: Certificates;
  port: number;
  managementPort: number;
}

function configOf(options: PebbleOptions, { folder, certificates, port, managementPort }: Place) {
  writeFileSync(join(folder, 'server.pem'), certificates.cert);
  writeFileSync(join(folder, 'server.key'), certificates.key);
  return {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: join(folder, 'server.pem'),
      privateKey: join(folder, 'server.key'),
      httpPort: options.httpPort,
      tlsPort: 1,
      certificateValidityPeriod: options.validitySeconds ?? 7_776_000,
      externalAccountBindingRequired: options.external !== undefined,
      externalAccountMACKeys: options.external ?? {},
    },
  };
}

/** Each name has the address 127.0.0.1 until the test says otherwise. */
export async function startNameServer(at?: { host: string; port: number }) {
  const { host, port } = at ?? { host: '127.0.0.1', port: await freePort() };
  const managementPort = await freePort();
  const child = spawn(
    'pebble-challtestsrv',
    [
      '-defaultIPv4',
      '127.0.0.1',
      '-defaultIPv6',
      '',
      '-http01',
      '',
      '-https01',
      '',
      '-tlsalpn01',
      '',
      '-dns01',
      `${host}:${port}`,
      '-management',
      `127.0.0.1:${managementPort}`,
    ],
    { stdio: 'ignore' },
  );
  whenDone(async () => await ended(child));
  const base = `http://127.0.0.1:${managementPort}`;
  await waitFor('the name server', async () => await answers(base));
  const tell = async (path: string, body: object) => {
    const reply = await fetch(`${base}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`the name server refuses ${path}: ${reply.status}`);
  };
  return {
    address: `${host}:${port}`,
    setText: async (host: string, value: string) => await tell('set-txt', { host, value }),
    setAddresses: async (host: string, addresses: readonly string[]) => {
      await tell('clear-a', { host: `${host}.` });
      if (addresses.length > 0) await tell('add-a', { host: `${host}.`, addresses });
    },
    /** Names without records have this one; empty: none. */
    setDefault: async (ip: string) => await tell('set-default-ipv4', { ip }),
    failFor: async (host: string) => await tell('set-servfail', { host: `${host}.` }),
    answerFor: async (host: string) => await tell('clear-servfail', { host: `${host}.` }),
  };
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function textOf(url: string, ca: string): Promise<string> {
  const asked = request(url, { ca, agent: false }).end();
  const [reply] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part);
  return Buffer.concat(parts).toString();
}
