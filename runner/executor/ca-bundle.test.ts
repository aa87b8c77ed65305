import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { caEnv, writeCaBundle } from './ca-bundle.ts';
import { makeCertificates, type Certificates } from '../../test/setup/runner/certificates.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';

/** This serves a repository with one commit as plain files over TLS. */
async function serveRepository(certificates: Certificates): Promise<string> {
  const folder = tempDir();
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      stdio: 'ignore',
    });
  git('init', '--initial-branch=main', '.');
  git('commit', '--allow-empty', '-m', 'first');
  git('update-server-info');
  const server = createServer(certificates, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'https://x');
    try {
      response.end(readFileSync(join(folder, '.git', normalize(pathname))));
    } catch {
      response.writeHead(404).end();
    }
  });
  return `https://localhost:${await listening(server)}/`;
}

async function heads(url: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)('git', ['ls-remote', '--heads', url], {
    env: { PATH: process.env['PATH'], HOME: tempDir(), GIT_TERMINAL_PROMPT: '0', ...env },
  });
  return stdout;
}

async function bundleOf(options: Parameters<typeof writeCaBundle>[1]): Promise<string> {
  const path = await writeCaBundle(tempDir(), options);
  if (path === undefined) throw new Error('no bundle was written');
  return path;
}

describe('2.16 a private authority for the programs of builds', () => {
  it('lets git trust it beside the usual ones, directly and through a proxy', async () => {
    const certificates = makeCertificates();
    const url = await serveRepository(certificates);
    await expect(heads(url, {})).rejects.toThrow(/certificate/i);
    const bundle = await bundleOf({ ca: certificates.ca, env: {} });
    expect(await heads(url, caEnv(bundle))).toContain('refs/heads/main');
    // The usual authorities are still in it.
    expect(readFileSync(bundle, 'utf8').split('BEGIN CERTIFICATE').length).toBeGreaterThan(50);

    const proxy = await startFakeProxy();
    expect(await heads(url, { ...caEnv(bundle), https_proxy: proxy.url })).toContain('refs/heads/main');
    expect(proxy.seen[0]).toBe(`CONNECT ${new URL(url).host}`);
  });

  it('counts what the daemon trusts by NODE_EXTRA_CA_CERTS, and leaves everything alone without either', async () => {
    const [one, two] = [makeCertificates(), makeCertificates()];
    const bundle = await bundleOf({ ca: two.ca, env: { NODE_EXTRA_CA_CERTS: one.caFile } });
    expect(await heads(await serveRepository(one), caEnv(bundle))).toContain('refs/heads/main');
    expect(readFileSync(bundle, 'utf8')).toContain(two.ca.trim());
    for (const env of [{}, { NODE_EXTRA_CA_CERTS: '' }, { NODE_EXTRA_CA_CERTS: '/nowhere.pem' }])
      expect(await writeCaBundle(tempDir(), { ca: undefined, env })).toBeUndefined();
  });
});
