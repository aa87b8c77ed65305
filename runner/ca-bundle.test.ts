import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { caEnv, writeCaBundle } from './ca-bundle.ts';
import { makeCertificates, type Certificates } from './testing/certificates.ts';
import { startFakeProxy } from './testing/fake-proxy.ts';
import { tempDir } from './testing/temp-dir.ts';

/** A repository with one commit, served as plain files over TLS. */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}

async function heads(url: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)('git', ['ls-remote', '--heads', url], {
    env: { PATH: process.env['PATH'], HOME: tempDir(), GIT_TERMINAL_PROMPT: '0', ...env },
  });
  return stdout;
}

describe('2.16 a private authority for the programs of builds', () => {
  it('lets git trust it beside the usual ones, directly and through a proxy', async () => {
    const certificates = makeCertificates();
    const url = await serveRepository(certificates);
    await expect(heads(url, {})).rejects.toThrow(/certificate/i);
    const bundle = await writeCaBundle(tempDir(), certificates.ca);
    expect(await heads(url, caEnv(bundle))).toContain('refs/heads/main');
    // The usual ones are still in it.
    expect(readFileSync(bundle, 'utf8').split('BEGIN CERTIFICATE').length).toBeGreaterThan(50);

    const proxy = await startFakeProxy();
    expect(await heads(url, { ...caEnv(bundle), https_proxy: proxy.url })).toContain('refs/heads/main');
    expect(proxy.seen[0]).toBe(`CONNECT ${new URL(url).host}`);
  });
});
