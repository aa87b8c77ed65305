import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const digest = `sha256:${'1'.repeat(64)}`;
const artifact = {
  id: 'art_1',
  teamId: 'team_1',
  digest,
  kind: 'image',
  name: 'registry.example.com/acme/web',
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  platform: 'linux/amd64',
  createdAt: '2026-11-20T08:00:00Z',
  sources: [
    {
      origin: 'build',
      ref: 'bld_1',
      projectName: 'web',
      environmentName: 'production',
      commit: '3f2a9c1d5e7b8a90'.repeat(2),
      runnerId: 'rnr_1',
      regionId: 'eu',
      at: '2026-11-20T08:00:00Z',
    },
    { origin: 'ci_run', ref: 'cir_1', repository: 'https://github.com/acme/web', at: '2026-11-20T09:00:00Z' },
    { origin: 'declared', ref: 'acc_1', at: '2026-11-20T10:00:00Z' },
  ],
  sbom: {
    packages: 60,
    unread: ['rpm database', 'pip'],
    lists: [
      { source: 'runner', by: 'rnr_1', packages: 60 },
      { source: 'upload', by: 'user_1', packages: 3, difference: { added: 2, lacking: 59, otherwise: 1 } },
    ],
  },
};
const stated = (verification: object, predicateType = 'https://slsa.dev/provenance/v1') => ({
  id: 'ats_1',
  predicateType,
  verification,
});
const attestations = [
  stated({ status: 'valid', signer: 'the service (build_service)', keyId: 'sgk_1' }),
  stated(
    { status: 'key_revoked', problem: 'its key was revoked: stolen\u001b[2J', signer: 'scanner' },
    'https://x.example/scan/v1',
  ),
  stated({ status: 'unverified', problem: 'nobody is trusted' }),
];
const answers = (of: object = artifact, page: object = { attestations }) => {
  api.on('GET /teams/team_1/artifacts/art_1', { body: of });
  api.on('GET /teams/team_1/artifacts/art_1/attestations', { body: page });
};
const line = 'artifacts show art_1 --team team_1';

describe('svc artifacts show', () => {
  it('shows people what it is, each source and each statement in a line', async () => {
    answers();
    const { code, out, err } = await svc(api, line, { terminal: true });
    expect(out.split('\n')).toEqual([
      'artifact   registry.example.com/acme/web (image)',
      'id         art_1',
      `digest     ${digest}`,
      'type       application/vnd.oci.image.manifest.v1+json',
      'platform   linux/amd64',
      'since      2026-11-20T08:00:00Z (4h ago)',
      'source     build bld_1 of web/production at commit 3f2a9c1d5e7b by runner rnr_1, region eu',
      'source     CI run cir_1 of https://github.com/acme/web',
      'source     declared by acc_1',
      'packages   60 (not read: rpm database, pip)',
      'list       runner rnr_1: 60 packages',
      'list       uploaded by user_1: 3 packages, of which the runner lists 2 not and 1 otherwise; it lacks 59',
      'statement  https://slsa.dev/provenance/v1  valid by the service (build_service)',
      'statement  https://x.example/scan/v1  KEY_REVOKED: its key was revoked: stolen\\x1b[2J, signed by scanner',
      'statement  https://slsa.dev/provenance/v1  UNVERIFIED: nobody is trusted',
      '',
    ]);
    expect([code, err]).toEqual([0, '']);
  });

  it.each([
    [{ packages: 0, unread: [] }, '0'],
    [
      { unread: [], problem: 'the image was not read within 60 s' },
      'not known: the image was not read within 60 s',
    ],
    [undefined, 'not known'],
  ])('says of the packages %o what is known', async (sbom, said) => {
    answers({ ...artifact, sbom });
    const { out } = await svc(api, line, { terminal: true });
    expect(out).toContain(`\npackages   ${said}\n`);
  });

  it('gives programs both answers, one page of statements, and says when there are more', async () => {
    answers(artifact, { attestations, nextCursor: 'c2' });
    const { out, err } = await svc(api, `${line} --json`);
    expect(JSON.parse(out)).toEqual({ artifact, attestations });
    expect(err).toBe(
      'there are more statements: svc artifacts attestations art_1 --team team_1 --cursor c2\n',
    );
    expect(api.asked.filter(({ target }) => target.includes('/attestations'))).toHaveLength(1);
    expect((await svc(api, line)).out).toContain(`artifact.digest\t${digest}\n`);
  });

  it('ends with 5 when there is no such artifact', async () => {
    const missing = apiError(404, 'not_found', 'there is no such artifact');
    api.on('GET /teams/team_1/artifacts/art_1', missing);
    api.on('GET /teams/team_1/artifacts/art_1/attestations', missing);
    expect((await svc(api, line)).code).toBe(5);
  });

  it('says of a build without provenance that it is still to come', async () => {
    answers(artifact, { attestations: [] });
    const { out: stdout } = await svc(api, ['artifacts', 'show', 'art_1', '--team', 'team_1'], {
      terminal: true,
    });
    expect(stdout).toContain('not there yet');
    const declared = { ...artifact, sources: [artifact.sources[2]] };
    answers(declared, { attestations: [] });
    expect(
      (await svc(api, ['artifacts', 'show', 'art_1', '--team', 'team_1'], { terminal: true })).out,
    ).not.toContain('not there yet');
  });
});
