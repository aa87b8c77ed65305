/** Checks with played engines what is made of their words; daemon-build.test.ts has the real one. */
import { describe, expect, it } from 'vitest';
import { SOURCE, testContext, type TestContext } from '../../test/setup/runner/build-context.ts';
import { builderBase, inspectBuilt } from './built-image.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const OCI = 'application/vnd.oci.image.manifest.v1+json';

async function saying(engine: 'podman' | 'docker', said: string, code = 0): Promise<TestContext> {
  const context = await testContext(SOURCE, engine);
  context.fake(engine, `cat <<'END'\n${said}\nEND\nexit ${code}`);
  return context;
}
const told = async (...said: Parameters<typeof saying>) => await inspectBuilt(await saying(...said), 't');

describe('inspectBuilt()', () => {
  it('takes the platform and the type of the manifest from podman, and no base that it pulled for itself', async () => {
    const context = await saying('podman', `linux/amd64 ${OCI} docker.io/library/alpine:3 ${DIGEST}`);
    expect(await inspectBuilt(context, 't')).toEqual({ platform: 'linux/amd64', manifestType: OCI });
    // Without containment the engine's store is the operator's own.
    expect(context.calls('podman')).toHaveLength(1);
  });

  it("takes docker's descriptor where it has one", async () => {
    const descriptor = { mediaType: OCI, digest: DIGEST };
    expect(await told('docker', `linux/arm/v7 ${JSON.stringify({ ...descriptor, size: 1 })}`)).toEqual({
      platform: 'linux/arm/v7',
      descriptor: { ...descriptor, size: 1 },
    });
    for (const none of ['null', '<no value>'])
      expect(await told('docker', `linux/amd64/ ${none}`)).toEqual({ platform: 'linux/amd64' });
  });

  it('leaves out what is no platform', async () => {
    expect(await told('podman', `linux/${'x'.repeat(40)} ${OCI}`)).toEqual({ manifestType: OCI });
    expect(await told('docker', 'Linux/amd64/$(id) null')).toEqual({});
  });

  it('does not fail, and says so, where the engine says nothing', async () => {
    const context = await saying('podman', 'no such image', 125);
    expect(await inspectBuilt(context, 't')).toEqual({});
    expect(context.text()).toContain('==> the engine does not say what the image is: no such image');
    const garbled = await saying('docker', 'linux/amd64/ {');
    expect(await inspectBuilt(garbled, 't')).toEqual({});
  });
});

describe('builderBase()', () => {
  it('is a builder that is pinned by its digest', () => {
    expect(builderBase(`reg.example/builder@${DIGEST}`)).toEqual([
      { name: 'reg.example/builder', digest: DIGEST },
    ]);
    expect(builderBase('reg.example/builder:1')).toEqual([]);
  });
});
