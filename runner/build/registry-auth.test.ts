import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { imageAt, SOURCE, testContext } from '../../test/setup/runner/build-context.ts';
import { registryAccess } from './registry-auth.ts';

describe('registryAccess()', () => {
  it.each([
    ['podman', 'docker.io', 'docker.io'],
    ['docker', 'docker.io', 'https://index.docker.io/v1/'],
    ['docker', 'registry.example.com:5000', 'registry.example.com:5000'],
  ] as const)('gives %s the credentials for %s by the name it looks for', async (engine, host, name) => {
    const context = await testContext(SOURCE, engine);
    const image = imageAt(host, { username: 'ci', password: 'p' });
    const { flags, env } = await registryAccess(context, image);
    const file = `${context.workspace.secrets}/registry/config.json`;
    expect([...flags, env['DOCKER_CONFIG']]).toEqual(
      engine === 'podman' ? [`--authfile=${file}`, undefined] : [`${context.workspace.secrets}/registry`],
    );
    const auth = Buffer.from('ci:p').toString('base64');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ auths: { [name]: { auth } } });
  });

  it.each(['podman', 'docker'] as const)(
    "gives %s an empty file where the team has no login, so that the operator's is used for nobody",
    async (engine) => {
      const context = await testContext(SOURCE, engine);
      for (const of of [undefined, imageAt('reg.example')]) {
        const { flags, file, env } = await registryAccess(context, of);
        expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ auths: {} });
        expect(engine === 'podman' ? flags : [`--authfile=${env['DOCKER_CONFIG']}/config.json`]).toEqual([
          `--authfile=${file}`,
        ]);
      }
    },
  );
});
