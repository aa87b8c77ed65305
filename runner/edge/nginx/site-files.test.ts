import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { freePort } from '../../../test/setup/registry.ts';
import { tempDir } from '../../../test/setup/runner/temp-dir.ts';
import { writeDurably } from '../../disk/durable-file.ts';
import { SILENT } from '../../platform/log.ts';
import { createNginx } from './process.ts';
import { renderMain } from './render.ts';
import { openSiteFiles } from './site-files.ts';

const opened = async () => {
  const dir = tempDir();
  for (const name of ['logs', 'temp']) mkdirSync(join(dir, name));
  const main = {
    address: '127.0.0.1',
    hasIPv6: false,
    httpPort: await freePort(),
    httpsPort: await freePort(),
  };
  const wrapper = (sites: string) => renderMain({ ...main, pidFile: 'nginx.pid', sites });
  await writeDurably(join(dir, 'nginx.conf'), wrapper('sites/*.conf'));
  const nginx = createNginx({ dir, program: 'nginx', log: SILENT });
  const server = (name: string, more = '') =>
    `server { listen 127.0.0.1:${main.httpPort}; server_name ${name}; ${more} }`;
  const makeCertificate = () =>
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=a',
        '-keyout',
        join(dir, 'a.key'),
        '-out',
        join(dir, 'a.pem'),
      ],
      { stdio: 'ignore' },
    );
  const text = (id: string) => readFileSync(join(dir, 'sites', `${id}.conf`), 'utf8');
  return {
    dir,
    nginx,
    server,
    httpsPort: main.httpsPort,
    makeCertificate,
    text,
    files: await openSiteFiles({ dir, nginx, wrapper }),
  };
};

describe.runIf(await has('nginx'))('files of sites', () => {
  it('are taken without those that nginx refuses, of which the old ones stay', async () => {
    const { files, server, text, nginx } = await opened();
    await files.place(
      new Map([
        ['a', server('a')],
        ['b', server('b')],
      ]),
    );
    const placed = await files.place(
      new Map([
        ['a', server('a', 'nonsense on;')],
        ['b', server('b2')],
        ['c', server('c', '}')],
      ]),
    );
    expect(placed.isChanged).toBe(true);
    expect([...placed.refused.keys()]).toEqual(['a', 'c']);
    expect(placed.refused.get('a')).toContain('unknown directive "nonsense"');
    expect([text('a'), text('b')]).toEqual([server('a'), server('b2')]);
    expect(await nginx.refusal('nginx.conf')).toBeUndefined();
  });

  it('are put back when nginx refuses them together', async () => {
    const { files, server, text } = await opened();
    const zone = (size: number) => `limit_req_zone $host zone=z:${size}m rate=1r/s;`;
    await files.place(new Map([['a', server('a')]]));
    const both = new Map([
      ['a', zone(1) + server('a')],
      ['b', zone(2) + server('b')],
    ]);
    // Each alone would do.
    await expect(files.place(both)).rejects.toThrow('nginx refuses');
    expect(text('a')).toBe(server('a'));
  });

  it('lose the one that is refused all of a sudden, and take the others', async () => {
    const { dir, files, server, makeCertificate, text, nginx, httpsPort } = await opened();
    makeCertificate();
    const tls = server(
      'a',
      `listen 127.0.0.1:${httpsPort} ssl; ssl_certificate a.pem; ssl_certificate_key a.key;`,
    );
    await files.place(
      new Map([
        ['a', tls],
        ['b', server('b')],
      ]),
    );
    expect(text('a')).toBe(tls);
    rmSync(join(dir, 'a.key'));
    const placed = await files.place(
      new Map([
        ['a', tls],
        ['b', server('b2')],
      ]),
    );
    expect([...placed.refused.keys()]).toEqual(['a']);
    expect(text('b')).toBe(server('b2'));
    expect(readdirSync(join(dir, 'sites'))).toEqual(['b.conf']);
    makeCertificate();
    const back = await files.place(
      new Map([
        ['a', tls],
        ['b', server('b2')],
      ]),
    );
    expect([...back.refused]).toEqual([]);
    rmSync(join(dir, 'a.key'));
    expect([...(await files.repair()).keys()]).toEqual(['a']);
    expect(await nginx.refusal('nginx.conf')).toBeUndefined();
  });
});
