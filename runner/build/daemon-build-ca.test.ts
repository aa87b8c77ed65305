/**
 * 2.16 A private authority reaches the containers of builds: steps by a mount and the usual variables, image
 * builds as a secret that they may ask for.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { CA_BUNDLE_IN_CONTAINER } from '../executor/ca-bundle.ts';
import { lastRegistry } from '../disk/last-registry.ts';
import {
  appTree,
  built,
  DOCKERFILE,
  imageIn,
  registry,
  removeImagesAfterAll,
  repository,
  shown,
  startBuilder,
} from '../../test/setup/runner/build-stories.ts';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { makeHome } from '../../test/setup/runner/daemon-process.ts';
import { controlPlane, useBundle } from '../../test/setup/runner/stories.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git')) && (await has('registry'));

describe.runIf(there)('builds with a private authority', { timeout: 400_000 }, () => {
  it('2.16 shows it to every step and to image builds that ask for it, and remembers the registry for the doctor', async () => {
    const certificates = makeCertificates();
    const cp = await controlPlane({ tls: certificates, host: 'localhost' });
    cp.intervals.leaseMs = 15_000;
    const home = makeHome(cp, { caFile: certificates.caFile });
    // Given relative to where the daemon starts, as people do.
    const daemon = startBuilder(bundle(), { ...home, dataDir: relative(process.cwd(), home.dataDir) });
    const images = await registry();
    const asks = `${DOCKERFILE}RUN --mount=type=secret,id=svc-ca ["/bin/busybox", "grep", "-c", "BEGIN CERTIFICATE", "/run/secrets/svc-ca"]\n`;
    const { source } = await repository(await appTree({ Dockerfile: asks }));
    // The last lines of the bundle are the authority itself.
    const mark = certificates.ca.trim().split('\n').at(-2) ?? '';
    shown({ cp, daemon });
    const build = await built(cp, {
      source,
      buildType: 'dockerfile',
      steps: [
        `test "$GIT_SSL_CAINFO $NODE_EXTRA_CA_CERTS" = "${CA_BUNDLE_IN_CONTAINER} ${CA_BUNDLE_IN_CONTAINER}"`,
        `grep -F -q '${mark}' "$SSL_CERT_FILE"`,
      ],
      image: imageIn(images, 'ca'),
    });
    expect(build.report).toMatchObject({ reason: 'exit', exitCode: 0 });
    expect(readFileSync(join(home.dataDir, 'ca-bundle.pem'), 'utf8')).toContain(mark);
    await waitFor('the note', async () => (await lastRegistry(home.dataDir)) === `${images.host}/acme`);
  });
});
