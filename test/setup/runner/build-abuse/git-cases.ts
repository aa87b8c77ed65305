/**
 * What a repository's address, and the repository itself, may make git connect to. Run by git-abuse.test.ts;
 * docs/sandbox.md holds the table.
 */
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { expect } from 'vitest';
import type { TreeEntry } from '../../git-server.ts';
import { freePort } from '../../registry.ts';
import { PUBLIC, type Bench } from './bench.ts';
import type { AbuseCase } from '../abuse.ts';
import { gitServer } from '../build-stories.ts';
import { listening } from '../listening.ts';

interface Trap {
  port: number;
  connections(): number;
  /** Returns what the last connection began with. */
  received(): string;
}

/** A server of the machine that counts whoever reaches it, and says `banner` first. */
async function trap(banner = ''): Promise<Trap> {
  let [count, received] = [0, ''];
  const port = await listening(
    createServer((socket: Socket) => {
      count += 1;
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        received = data.toString('latin1');
        socket.destroy();
      });
      socket.write(banner);
    }),
  );
  return { port, connections: () => count, received: () => received };
}

/** This serves repositories at `http://public.test`. */
async function publicGit(bench: Bench) {
  const server = await gitServer();
  bench.names.set('public.test', [[PUBLIC]]);
  const publicPort = Number(new URL(server.url).port);
  return {
    publicPort,
    commit: (name: string, tree: Record<string, TreeEntry>) => server.commit(name, tree).commit,
    clone: async (name: string) =>
      await bench.clone(`http://public.test/${name}.git`, { submodules: true, publicPort }),
  };
}

const modules = (url: string) => `[submodule "s"]\n  path = s\n  url = ${url}\n`;
/** The failure without the address, which the caller has written himself. */
const textOf = (failure: string | undefined) => failure?.replace(/ of \S+ cannot/, '');
const REFUSED = /no public address that may be reached answers there/;

/** Every address fails with the same text, and nothing connects to anything. */
async function expectAlike(bench: Bench, urls: readonly string[]): Promise<void> {
  bench.called.length = 0;
  const texts = new Set<string | undefined>();
  for (const url of urls) {
    const { failure, output } = await bench.clone(url);
    expect(failure, url).toMatch(REFUSED);
    expect(output, url).not.toMatch(/trying again|10\.0\.0\.1|\/builds\//);
    texts.add(textOf(failure));
  }
  expect([...texts]).toHaveLength(1);
  expect([...texts][0]).not.toMatch(/\/(?:builds|private|git)\//);
  expect(bench.called).toEqual([]);
}

export const GIT_ABUSE_CASES: readonly AbuseCase<Bench>[] = [
  {
    abuse:
      'address of the repository on the machine’s loopback: `https://127.0.0.1:…`, `ssh://git@127.0.0.1:…`, `git@127.0.0.1:…`, by other names and spellings',
    held: 'refused before a byte is sent, at once and without another try; an open and a closed port give the same text, which holds no path of the machine',
    async act(bench) {
      const [open, ssh] = [await trap(), await trap('SSH-2.0-canary\r\n')];
      const closed = await freePort();
      const ports = [open.port, ssh.port, closed];
      await expectAlike(bench, [
        `https://localhost:${open.port}/x`,
        ...ports.flatMap((port) => [`https://127.0.0.1:${port}/x`, `ssh://git@127.0.0.1:${port}/x`]),
        `https://[::1]:${open.port}/x`,
        `https://[::ffff:127.0.0.1]:${open.port}/x`,
        'git@127.0.0.1:x',
      ]);
      expect(open.connections() + ssh.connections()).toBe(0);
    },
  },
  {
    abuse:
      'addresses of the site, of the cloud’s metadata, and names that stand for them, at first or when they are dialled',
    held: 'refused with that same text, as is a name that does not exist; what was checked is what is dialled',
    async act(bench) {
      bench.names.set('inner.test', [['10.0.0.1']]);
      bench.names.set('loop.test', [['127.0.0.1']]);
      bench.names.set('mapped.test', [['::ffff:10.0.0.1', '64:ff9b::a9fe:a9fe', 'fd00:ec2::254']]);
      bench.names.set('rebound.test', [[PUBLIC], ['169.254.169.254']]);
      await expectAlike(bench, [
        'https://169.254.169.254/latest',
        'https://10.0.0.1/x',
        'ssh://git@172.16.0.1/x',
        'https://inner.test/x',
        'git@inner.test:x',
        'ssh://git@loop.test:2222/x',
        'https://mapped.test/x',
        'https://rebound.test/x',
        'https://absent.test/x',
      ]);
    },
  },
  {
    abuse: '`.gitmodules` with such an address, directly and in a submodule of a submodule',
    held: 'refused with that same text; submodules at public addresses and relative ones are fetched',
    async act(bench) {
      const { port, connections } = await trap();
      const git = await publicGit(bench);
      const leaf = git.commit('leaf', { a: 'leaf' });
      const urls = [
        `https://127.0.0.1:${port}/x`,
        `ssh://git@127.0.0.1:${port}/x`,
        'git@127.0.0.1:x',
        'https://10.0.0.1/x',
      ];
      const texts = new Set<string | undefined>();
      for (const [at, url] of urls.entries()) {
        const inner = git.commit(`inner${at}`, { '.gitmodules': modules(url), s: { submodule: leaf } });
        git.commit(`outer${at}`, { '.gitmodules': modules(`../inner${at}.git`), s: { submodule: inner } });
        const { failure } = await git.clone(at % 2 === 0 ? `inner${at}` : `outer${at}`);
        expect(failure, url).toMatch(/^submodules cannot be fetched: no public address/);
        texts.add(failure);
      }
      expect([...texts]).toHaveLength(1);
      expect(connections()).toBe(0);
      const there = git.commit('middle', { '.gitmodules': modules('../leaf.git'), s: { submodule: leaf } });
      git.commit('good', {
        '.gitmodules': modules('http://public.test/middle.git'),
        s: { submodule: there },
      });
      expect(await git.clone('good')).toMatchObject({ failure: undefined });
    },
  },
  {
    abuse: '`.gitmodules` with a path of the machine, `file://`, `ext::sh -c …`, `git://`',
    held: 'refused: no protocols but https and ssh; git sees programs, its clone and its own credentials of the machine',
    async act(bench) {
      const git = await publicGit(bench);
      const leaf = git.commit('leaf', { a: 'leaf' });
      for (const [at, url] of ['/etc', 'file:///etc', 'ext::sh -c "id"', 'git://127.0.0.1/x'].entries()) {
        git.commit(`r${at}`, { '.gitmodules': modules(url), s: { submodule: leaf } });
        const { failure } = await git.clone(`r${at}`);
        expect(failure, url).toMatch(/not allowed|does not exist|disallowed|cannot be fetched/);
        expect(failure, url).not.toMatch(/uid=|\/builds\//);
      }
    },
  },
  {
    abuse: 'a public server that redirects to loopback, the site or metadata',
    held: 'the redirect is refused as the address itself is',
    async act(bench) {
      const { port, connections } = await trap();
      bench.names.set('public.test', [[PUBLIC]]);
      let to = '';
      const server = createHttpServer((request, response) =>
        response.writeHead(302, { location: `${to}${request.url}` }).end(),
      );
      const publicPort = await listening(server);
      for (to of [`http://127.0.0.1:${port}`, `https://127.0.0.1:${port}`, 'http://169.254.169.254']) {
        const { failure } = await bench.clone('http://public.test/r.git', { publicPort });
        expect(failure, to).toMatch(REFUSED);
      }
      expect(connections()).toBe(0);
      expect(new Set(bench.called.map(({ host }) => host))).toEqual(new Set([PUBLIC]));
    },
  },
  {
    abuse: '`.lfsconfig` with such an endpoint or a path of the machine, and a file that is a pointer',
    held: 'refused with that same text, and the path as no address of https or ssh; git-lfs runs where git does',
    async act(bench) {
      const { port, connections } = await trap();
      const git = await publicGit(bench);
      const failureWith = async (name: string, url: string) => {
        git.commit(name, {
          '.lfsconfig': `[lfs]\n  url = ${url}\n`,
          '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
          'a.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 1\n`,
        });
        return (await git.clone(name)).failure;
      };
      const open = await failureWith('open', `http://127.0.0.1:${port}/`);
      expect(open).toMatch(REFUSED);
      expect(await failureWith('closed', `http://127.0.0.1:${await freePort()}/`)).toBe(open);
      expect(await failureWith('path', 'file:///etc')).toMatch(/fetched by https and ssh alone/);
      expect(connections()).toBe(0);
    },
  },
  {
    abuse: 'public addresses, by https and ssh',
    held: 'reached, on the ports 22, 80, 443, 9418 and the one in the address of the repository',
    async act(bench) {
      bench.names.set('public.test', [[PUBLIC]]);
      const [tls, ssh] = [await trap(), await trap('SSH-2.0-there\r\n')];
      bench.called.length = 0;
      for (const address of ['https://public.test/x', 'https://public.test:8443/x'])
        expect((await bench.clone(address, { publicPort: tls.port })).failure).not.toMatch(REFUSED);
      // The byte begins a handshake of TLS.
      expect(tls.received().charCodeAt(0)).toBe(0x16);
      await bench.clone('git@public.test:x', { publicPort: ssh.port, sshKey: 'none' });
      expect(ssh.received()).toMatch(/^SSH-2\.0-/);
      expect(new Set(bench.called.map(({ port }) => port))).toEqual(new Set([443, 8443, 22]));
    },
  },
];
