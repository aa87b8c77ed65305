import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { edgePlace, siteOf, startApp } from '../../test/setup/edge/edge.ts';
import { programsIn, usePath } from '../../test/setup/runner/programs.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { SILENT } from '../platform/log.ts';
import type { Site } from './edge.ts';
import { createNginx } from './nginx/process.ts';

const shared = (await has('nginx'))
  ? sharedByFile(async () => {
      const place = await edgePlace();
      const [one, two] = [await startApp('one'), await startApp('two')];
      return { place, one, two, edge: await place.open() };
    })
  : undefined;

const CHALLENGES = 'challenges/.well-known/acme-challenge';
const token = (n: number) => `${'t'.repeat(20)}${n}`;

describe.runIf(shared)('an edge with a real nginx', () => {
  it('serves apps by their names, and no app by anything else', async () => {
    const { place, one, two, edge } = shared!();
    await edge.apply([
      siteOf('one', one, 'one.example.com', 'www.example.com'),
      siteOf('two', two, 'two.example.com'),
    ]);
    expect(await place.get('one.example.com')).toMatchObject({ status: 200, body: 'one' });
    expect(await place.get('WWW.example.com')).toMatchObject({ status: 200, body: 'one' });
    expect(await place.get('two.example.com')).toMatchObject({ status: 200, body: 'two' });
    for (const name of ['127.0.0.1', 'other.example.com', '_', ''])
      expect(await place.get(name), name).not.toMatchObject({ status: 200 });
    expect(await place.get('other.example.com')).toMatchObject({ status: 421 });
    expect((await place.get('other.example.com')).headers['server']).toBe('nginx');
    expect(await place.shown('one.example.com')).toBeUndefined();
    expect(await place.shown('other.example.com')).toBeUndefined();
  });

  it('tells apps who asks, whatever the visitor says', async () => {
    const { place, one, edge } = shared!();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil',
      forwarded: 'for=6',
    };
    await place.get('one.example.com', { headers });
    expect(one.headers()).toMatchObject({
      host: 'one.example.com',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'one.example.com',
    });
    expect(one.headers()).not.toHaveProperty('forwarded');
    // The name of an absolute form counts, and the app sees no other one.
    await place.get('evil.example.com', { path: 'http://one.example.com/' });
    expect(one.headers()).toMatchObject({ host: 'one.example.com' });
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
    expect(await place.get('one.example.com', { headers: upgrade })).toMatchObject({ status: 101 });
  });

  it('says that an app is not there yet, and refuses a body of more than 1 GiB', async () => {
    const { place, one, edge } = shared!();
    await edge.apply([siteOf('new', undefined, 'new.example.com'), siteOf('one', one, 'one.example.com')]);
    expect(await place.get('new.example.com')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '10' },
    });
    const headers = { 'content-length': String(2 ** 30 + 1) };
    const answer = await place.get('one.example.com', { method: 'POST', headers }).catch(() => 'cut off');
    expect(answer === 'cut off' || (answer as { status: number }).status === 413).toBe(true);
  });

  it('shows challenges, and no other file', async () => {
    const { place, one, edge } = shared!();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    const folder = join(place.dir, CHALLENGES);
    writeFileSync(join(folder, token(1)), 'answer');
    writeFileSync(join(folder, 'short'), 'short');
    writeFileSync(join(folder, `${token(2)}.txt`), 'dot');
    symlinkSync('/etc/hostname', join(folder, token(3)));
    const answerTo = async (path: string) =>
      await place.get('one.example.com', { path: `/.well-known/acme-challenge/${path}` });
    expect(await answerTo(token(1))).toMatchObject({ status: 200, body: 'answer' });
    for (const path of [
      'short',
      `${token(2)}.txt`,
      token(4),
      '',
      `${token(1)}/`,
      `x/../${token(1)}/..`,
      `%2e%2e/${token(1)}`,
    ])
      expect(['answer', 'short', 'dot'], path).not.toContain((await answerTo(path)).body);
    expect((await answerTo(token(3))).status).toBe(403);
    expect((await answerTo('../../../../../../etc/passwd')).body).not.toContain('root');
  });

  it('keeps its files to itself', async () => {
    const { place } = shared!();
    const edge = join(place.dataDir, 'edge');
    expect(statSync(edge).mode & 0o777).toBe(0o700);
    for (const name of ['nginx/nginx.conf', 'nginx/sites/env_one.conf', 'sites.json'])
      expect(statSync(join(edge, name)).mode & 0o077, name).toBe(0);
  });

  it('refuses what would write into the files of nginx, and goes on with the rest', async () => {
    const { place, one, two, edge } = shared!();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    const before = place.file('env_one');
    const bad = (change: Partial<Site>): Site => ({ ...siteOf('bad', one, 'bad.example.com'), ...change });
    const names = (name: string) => ({ names: [{ name, ssl: false }] });
    for (const site of [
      bad(names('bad.example.com; return 200 x')),
      bad(names('bad.example.com\n}')),
      bad(names('$host')),
      bad(names('~.*')),
      bad(names('_')),
      bad(names('Bad.example.com')),
      bad({ environmentId: '../../nginx' }),
      bad({ environmentId: 'env_a;b' }),
      bad({ upstream: { host: '127.0.0.1;', port: 80 } }),
      bad({ upstream: { host: 'localhost', port: 80 } }),
      bad({ upstream: { host: '127.0.0.1', port: 80.5 } }),
      bad({ upstream: { host: '127.0.0.1', port: '80;' as unknown as number } }),
      bad({ names: [null, { name: 'bad.example.com', ssl: false }] as unknown as Site['names'] }),
      // It is of another one already.
      bad(names('one.example.com')),
      { ...siteOf('one', two, 'bad.example.com') },
    ]) {
      await edge.apply([siteOf('one', one, 'one.example.com'), site]);
      expect(
        edge.status().find(({ problem }) => problem !== undefined),
        JSON.stringify(site),
      ).toMatchObject({
        environmentId: site.environmentId,
      });
      expect(place.file('env_one')).toBe(before);
      expect(readdirSync(join(place.dir, 'sites'))).toEqual(['env_one.conf']);
    }
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
  });

  it('serves the last good form of a site whose new one is refused', async () => {
    const { place, one, two, edge } = shared!();
    await edge.apply([siteOf('one', one, 'one.example.com'), siteOf('two', two, 'two.example.com')]);
    await edge.apply([
      { ...siteOf('one', one, 'one.example.com'), upstream: { host: 'no address', port: 1 } },
      siteOf('two', one, 'two.example.com'),
    ]);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
    expect(await place.get('two.example.com')).toMatchObject({ body: 'one' });
    expect(edge.status()).toMatchObject([
      { name: 'two.example.com' },
      { name: 'one.example.com', problem: 'its app has no IP address' },
    ]);
    await edge.apply([siteOf('two', two, 'two.example.com')]);
    expect(await place.get('one.example.com')).toMatchObject({ status: 421 });
  });

  it('takes calls that come together in one reload, and reloads nothing for the same sites', async () => {
    const { place, one, two, edge } = shared!();
    const sites = [siteOf('one', one, 'one.example.com'), siteOf('two', two, 'two.example.com')];
    await edge.apply([]);
    const reloads = () =>
      readFileSync(join(place.dir, 'logs/error.log'), 'utf8').split('signal 1 (SIGHUP)').length;
    const workers = () => readFileSync(`/proc/${place.master()}/task/${place.master()}/children`, 'utf8');
    await Promise.all([edge.apply([]), edge.apply(sites.slice(0, 1)), edge.apply(sites)]);
    expect(await place.get('two.example.com')).toMatchObject({ body: 'two' });
    await edge.drained();
    const [before, seen] = [workers(), reloads()];
    await edge.apply(sites);
    expect(workers()).toBe(before);
    expect(reloads()).toBe(seen);
  });

  it('switches an app without a gap for those who ask', async () => {
    const { place, one, two, edge } = shared!();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    let isDone = false;
    const answers = new Map<string, number>();
    const asking = (async () => {
      while (!isDone) {
        const { status, body } = await place.get('one.example.com');
        answers.set(`${status} ${body}`, (answers.get(`${status} ${body}`) ?? 0) + 1);
      }
    })();
    for (const app of [two, one, two]) {
      await edge.switchTo('env_one', { host: '127.0.0.1', port: app.port });
      const now = await place.get('one.example.com');
      expect(now.body).toBe(app === one ? 'one' : 'two');
    }
    isDone = true;
    await asking;
    expect([...answers.keys()].toSorted()).toEqual(['200 one', '200 two']);
    await edge.drained();
    await expect(edge.switchTo('env_other', { host: '127.0.0.1', port: 1 })).rejects.toThrow(
      'serves nothing for env_other',
    );
    await expect(edge.switchTo('env_one', { host: 'x', port: 1 })).rejects.toThrow('no IP address');
  });
});

describe.runIf(shared)('an edge whose daemon is killed at any moment', () => {
  it('has files that are the old or the new ones, and goes on from them', async () => {
    const { one, two } = shared!();
    const place = await edgePlace();
    const first = await place.open();
    const sites = [siteOf('one', one, 'one.example.com'), siteOf('two', two, 'two.example.com')];
    await first.apply(sites);
    await first.stop();
    const settings = { ...place.options, log: undefined, sites, ports: [one.port, two.port] };
    for (let kills = 0; kills < 3; kills += 1) {
      const program = ['--import', 'tsx', '--conditions=source', 'test/setup/edge/edge-main.ts'];
      const daemon = spawn(process.execPath, [...program, JSON.stringify(settings)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      // It switches both apps back and forth, and is killed at a moment that differs each time.
      let switches = 0;
      daemon.stdout.on('data', (text: Buffer) => (switches += text.length));
      await waitFor('some switches', () => switches > kills * 3);
      const answers = Array.from({ length: 20 }, async () => await place.get('one.example.com'));
      daemon.kill('SIGKILL');
      await once(daemon, 'exit');
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
      expect(
        await createNginx({ dir: place.dir, program: 'nginx', log: SILENT }).refusal('nginx.conf'),
      ).toBeUndefined();
    }
    const last = await place.open();
    await last.apply(sites);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
    expect(await place.get('two.example.com')).toMatchObject({ body: 'two' });
    expect(readdirSync(join(place.dir, 'sites')).toSorted()).toEqual(['env_one.conf', 'env_two.conf']);
  });
});

describe.runIf(shared)('nginx of an edge', () => {
  it('lets requests end that an app answers slowly, while new ones go to the next app', async () => {
    const { two } = shared!();
    const slow = await startApp('slow', 'held');
    const place = await edgePlace();
    const edge = await place.open();
    await edge.apply([siteOf('one', slow, 'one.example.com')]);
    const held = place.get('one.example.com');
    await waitFor('the request', () => slow.headers()['host'] === 'one.example.com');
    await edge.switchTo('env_one', { host: '127.0.0.1', port: two.port });
    expect(await place.get('one.example.com')).toMatchObject({ body: 'two' });
    let isDrained = false;
    const draining = edge.drained().then(() => (isDrained = true));
    expect(await place.get('one.example.com')).toMatchObject({ body: 'two' });
    expect(isDrained).toBe(false);
    slow.release();
    expect(await held).toMatchObject({ status: 200, body: 'slow' });
    await draining;
  });

  it('goes on while the daemon is away, is found again, and takes what the daemon died before telling it', async () => {
    const { one, two } = shared!();
    const place = await edgePlace();
    const first = await place.open();
    await first.apply([siteOf('one', one, 'one.example.com')]);
    const master = place.master();
    await first.stop();
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
    // The daemon was killed after it wrote what is wanted, and before it rendered it.
    const kept = join(place.dataDir, 'edge/sites.json');
    writeFileSync(kept, readFileSync(kept, 'utf8').replace(String(one.port), String(two.port)));
    writeFileSync(join(place.dir, 'sites/env_one.conf.123.tmp'), 'half a fi');
    const second = await place.open();
    expect(place.master()).toBe(master);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'two' });
    expect(readdirSync(join(place.dir, 'sites'))).toEqual(['env_one.conf']);
    // This time it was killed between rename and HUP.
    await second.stop();
    writeFileSync(kept, readFileSync(kept, 'utf8').replace(String(two.port), String(one.port)));
    const file = join(place.dir, 'sites/env_one.conf');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(String(two.port), String(one.port)));
    await place.open();
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
  });

  it('is started again when it has ended, and another process with its pid is not taken for it', async () => {
    const { one } = shared!();
    const place = await edgePlace();
    const edge = await place.open();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    const master = place.master() ?? 0;
    process.kill(master, 'SIGTERM');
    await waitFor('nginx to end', () => !existsSync(`/proc/${master}`) || place.master() === undefined);
    writeFileSync(join(place.dir, 'nginx.pid'), `${process.pid}\n`);
    expect(place.master()).toBeUndefined();
    await edge.tick();
    expect(place.master()).not.toBe(master);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
  });

  it('is started again after its master alone was killed, whose workers went on', async () => {
    const { one, two } = shared!();
    const place = await edgePlace();
    const edge = await place.open();
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    process.kill(place.master() ?? 0, 'SIGKILL');
    await waitFor('the master to end', () => place.master() === undefined);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
    await edge.switchTo('env_one', { host: '127.0.0.1', port: two.port });
    for (let n = 0; n < 10; n += 1) expect(await place.get('one.example.com')).toMatchObject({ body: 'two' });
  });

  it('says why it cannot be started', async () => {
    const { place } = shared!();
    const other = await edgePlace();
    await expect(other.open({ httpPort: place.httpPort })).rejects.toThrow(/Address already in use/);
    await expect(other.open({ program: '/no/nginx' })).rejects.toThrow('/no/nginx');
  });

  it('is a unit of its own where systemd manages the daemon, and no child where systemd does not do it', async () => {
    const { one } = shared!();
    const place = await edgePlace();
    const seen = join(tempDir(), 'seen');
    const programs = programsIn(tempDir(), {
      'systemd-run': `echo "$@" > ${seen}; while [ "$1" != -- ]; do case $1 in --working-directory=*) cd "\${1#*=}";; esac; shift; done; shift; exec "$@"`,
    });
    usePath(`${programs}:${process.env['PATH']}`);
    const edge = await place.open({ unit: 'svc-edge' });
    expect(readFileSync(seen, 'utf8')).toMatch(
      /^--unit=svc-edge .*--property=Type=forking .* -- nginx -p \.\/ /,
    );
    await edge.apply([siteOf('one', one, 'one.example.com')]);
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
    await edge.stop();
    process.kill(place.master() ?? 0, 'SIGTERM');
    await waitFor('nginx to end', () => place.master() === undefined);
    writeFileSync(join(programs, 'systemd-run'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(programs, 'systemd-run'), 0o755);
    await place.open({ unit: 'svc-edge' });
    expect(await place.get('one.example.com')).toMatchObject({ body: 'one' });
  });
});
