/**
 * This file lists ways to another team's images on a machine of the service's pool. They are run by
 * image-abuse.test.ts with the released daemon; docs/sandbox.md holds the table.
 */
import { createServer } from 'node:net';
import { expect } from 'vitest';
import { freePort } from '../../registry.ts';
import type { AbuseCase } from '../abuse.ts';
import { listening } from '../listening.ts';
import type { ImageBench } from './image-bench.ts';

/** The text without the name and the digest, which the caller has written himself. */
const textOf = (message: string | undefined, name: string) =>
  message?.replaceAll(name, 'NAME').replaceAll(/sha256:[0-9a-f]{64}/g, 'DIGEST');

export const IMAGE_ABUSE_CASES: readonly AbuseCase<ImageBench>[] = [
  {
    abuse:
      'a run in another team’s image: by its name with digest or tag, by its name in the engine, by the digest of its configuration',
    held: 'the answer of an image that does not exist; its own team runs it by its names',
    async act(bench) {
      const { shop } = bench;
      const absent = `${bench.host}/team_a/shop@sha256:${'f'.repeat(64)}`;
      const unknown = textOf((await bench.run('team_b', absent)).report?.message, absent);
      expect(unknown).toContain('image NAME is not on this machine');
      for (const name of [
        shop.byDigest,
        shop.byTag,
        shop.inEngine,
        `${shop.name}@sha256:${shop.id}`,
        `localhost/svc-build@sha256:${shop.id}`,
        bench.external.byDigest,
      ]) {
        const run = await bench.run('team_b', name);
        expect(textOf(run.report?.message, name), name).toBe(unknown);
        expect(run.output.toString()).not.toContain(bench.secret);
      }
      for (const name of [shop.byDigest, shop.byTag]) {
        const run = await bench.run('team_a', name);
        expect(run.output.toString(), name).toContain(bench.secret);
      }
    },
  },
  {
    abuse: 'a run in an image by its id, whole or the beginning of it',
    held: 'refused before the engine is asked',
    async act(bench) {
      const { id } = bench.shop;
      for (const name of [id, `sha256:${id}`, id.slice(0, 12)]) {
        const run = await bench.run('team_b', name);
        expect(run.report?.message).toContain('it could be the id of any image');
      }
    },
  },
  {
    abuse: '`FROM`, `COPY --from` and `RUN --mount=from=` with another team’s image',
    held: 'not found, or refused by its registry: a build sees the store of its team, copies of the operator’s images, and what its own credentials open',
    async act(bench) {
      const { shop } = bench;
      for (const lines of [
        [`FROM ${shop.byDigest}`],
        ['FROM scratch', `COPY --from=${shop.inEngine} /secret /secret`],
        [
          'FROM scratch',
          'COPY busybox /bin/busybox',
          `RUN --mount=type=bind,from=${shop.inEngine},target=/m ["/bin/busybox", "cat", "/m/secret"]`,
        ],
      ]) {
        const build = await bench.build('team_b', { Dockerfile: `${lines.join('\n')}\n` });
        expect(build.report?.exitCode, lines.join('; ')).not.toBe(0);
        expect(build.report?.message).toContain('the image cannot be built');
        expect(build.output.toString()).not.toContain(bench.secret);
      }
    },
  },
  {
    abuse: 'a deploy of another team’s image by its name and digest: promoted, rolled back to, or declared',
    held: 'fetched with the credentials of the team that deploys, which its registry refuses; that it is on the machine counts for its own team alone',
    async act(bench) {
      const absent = `${bench.host}/team_a/shop@sha256:${'f'.repeat(64)}`;
      const unknown = textOf((await bench.deploy('team_b', absent)).report?.message, absent);
      expect(unknown).toBe('NAME cannot be pulled: there is no such image of this team');
      for (const name of [bench.shop.byDigest, bench.external.byDigest]) {
        const deployed = await bench.deploy('team_b', name);
        expect(deployed.report).toMatchObject({ reason: 'exit', build: { phase: 'deploying' } });
        expect(textOf(deployed.report?.message, name), name).toBe(unknown);
        expect(deployed.output.toString()).not.toMatch(/trying again/);
      }
    },
  },
  {
    abuse:
      'a registry of its own on the machine’s loopback, for a push of what was built or for an image that is deployed',
    held: 'refused before a byte is sent, without another try; an open and a closed port give the same text, which holds no path of the machine',
    async act(bench) {
      let connections = 0;
      const server = createServer((socket) => {
        connections += 1;
        socket.destroy();
      });
      const open = `127.0.0.1:${await listening(server)}`;
      const texts = { push: new Set<string>(), deploy: new Set<string>() };
      for (const host of [open, `127.0.0.1:${await freePort()}`]) {
        const tried = {
          push: await bench.push('team_b', host),
          deploy: await bench.deploy('team_b', `${host}/x/y@sha256:${'f'.repeat(64)}`),
        };
        for (const [what, { report, output }] of Object.entries(tried)) {
          expect(report?.message, `${what} ${host}`).toMatch(
            /no public address that may be reached answers there/,
          );
          expect(output.toString()).not.toMatch(/trying again|\/builds\/|\/stores\//);
          texts[what as 'push' | 'deploy'].add(String(report?.message).replaceAll(host, 'HOST'));
        }
      }
      expect([texts.push.size, texts.deploy.size]).toEqual([1, 1]);
      expect(connections).toBe(0);
    },
  },
  {
    abuse: 'an image of the operator, which a team has deployed, by the operator’s name',
    held: 'stays everybody’s',
    async act(bench) {
      const deployed = await bench.deploy('team_a', bench.given);
      expect(deployed.report?.message).toBeUndefined();
      const run = await bench.run('team_b', bench.given);
      expect(run.output.toString()).toContain('given');
    },
  },
  {
    abuse: 'none: a team rolls back to its own image while its registry is away',
    held: 'works for as long as the image is on the machine: noted as the team’s, or in its store',
    async act(bench) {
      await bench.withoutRegistry(async () => {
        for (const name of [bench.shop.byDigest, bench.external.byDigest])
          expect((await bench.deploy('team_a', name)).report, name).toMatchObject({ exitCode: 0 });
        const foreign = await bench.deploy('team_b', bench.shop.byDigest);
        expect(foreign.report?.exitCode).not.toBe(0);
      });
    },
  },
];
