/** The templates of `docs/policies/` are valid, and each allows and refuses what its page says. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readYamlValue } from '../../sdk/ci-definitions/index.ts';
import { readDocument, type PolicyDocument } from '../../server/delivery/policies/engine/document.ts';
import {
  emptyArtifact,
  emptyInput,
  type PolicyArtifact,
  type PolicyInput,
} from '../../server/delivery/policies/engine/input.ts';
import { createJudge } from '../../server/delivery/policies/engine/judgement.ts';
import { bindingsOf } from '../../server/delivery/policies/engine/values.ts';

const folder = new URL('../../docs/policies/', import.meta.url);
const judge = createJudge();

function documentOf(name: string): PolicyDocument {
  const read = readDocument(readYamlValue(readFileSync(new URL(`${name}.yaml`, folder), 'utf8')));
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.document;
}

const PROVENANCE = 'https://slsa.dev/provenance/v1';
const image = (more: Partial<PolicyArtifact> = {}): PolicyArtifact => ({
  ...emptyArtifact(),
  kind: 'image',
  origin: 'build',
  repository: 'https://git.example.com/acme/web',
  branch: 'main',
  ...more,
});
const statement = (verified: boolean) => ({
  predicateType: PROVENANCE,
  verified,
  signer: 'the service',
  builderId: '',
});
const packageOf = (...licenses: readonly string[]) => ({ type: 'npm', name: 'a', version: '1', licenses });
const model = (more: Partial<PolicyArtifact['evaluations'][number]>): PolicyArtifact => ({
  ...emptyArtifact(),
  kind: 'model',
  evaluations: [
    {
      suiteId: 'mmlu',
      score: 0.95,
      evaluatedAt: '2026-11-01T00:00:00Z',
      assuranceLevel: 'signed',
      statedBy: '',
      signer: 'evaluators',
      ...more,
    },
  ],
});
const promoted = (requiredApprovals: number, ...approvals: readonly string[]): Partial<PolicyInput> => ({
  promotion: { ...emptyInput().promotion, approvals },
  environment: { ...emptyInput().environment, name: 'production', requiredApprovals },
});

const production = promoted(1);
const CASES: Readonly<
  Record<string, { readonly allows: Partial<PolicyInput>; readonly denies: readonly Partial<PolicyInput>[] }>
> = {
  provenance: {
    allows: { artifacts: [image({ attestations: [statement(true)] }), { ...image(), kind: 'file' }] },
    denies: [
      { artifacts: [image({ attestations: [statement(false)] })] },
      { artifacts: [image({ attestations: [statement(true)] }), image()] },
    ],
  },
  'two-approvals': {
    allows: promoted(2, 'user_1', 'user_2'),
    denies: [promoted(2, 'user_1'), promoted(1, 'user_1')],
  },
  'no-agpl': {
    allows: {
      artifacts: [
        image({
          packages: [packageOf('MIT'), packageOf('LGPL-3.0-only'), packageOf('MIT OR AGPL-3.0-only')],
        }),
        image(),
      ],
    },
    denies: [
      'AGPL-3.0-only',
      'AGPL-3.0-or-later',
      'AGPL-1.0',
      'agpl-3.0-only',
      'MIT AND AGPL-3.0-only',
      'AGPL-3.0-only WITH Classpath-exception-2.0',
      'GNU Affero General Public License v3.0',
    ].map((license) => ({
      artifacts: [image({ packages: [packageOf('MIT'), packageOf('MIT', license)] })],
    })),
  },
  'package-list': {
    allows: { artifacts: [image({ sbom: { present: true, byRunner: true, packages: 0, unread: [] } })] },
    denies: [
      { artifacts: [image()] },
      { artifacts: [image({ sbom: { present: true, byRunner: true, packages: 2, unread: ['rpm'] } })] },
      {
        artifacts: [
          image({
            sbom: { present: false, byRunner: false, packages: 0, unread: ['the document names no package'] },
          }),
        ],
      },
    ],
  },
  evaluation: {
    allows: { artifacts: [model({}), model({ score: 0.9 }), image()] },
    denies: [
      { artifacts: [model({ assuranceLevel: 'self_attested' })] },
      { artifacts: [model({ signer: 'the service (platform)' })] },
      { artifacts: [model({ score: 0.89 })] },
      { artifacts: [model({}), { ...image(), kind: 'model' }] },
      // As it was recorded before the level was.
      { artifacts: [model({ assuranceLevel: '', signer: '' })] },
    ],
  },
  'default-branch': {
    allows: { ...production, artifacts: [image()] },
    denies: [
      { ...production, artifacts: [image(), image({ branch: 'fix' })] },
      { ...production, artifacts: [image({ branch: '' })] },
      { ...production, artifacts: [image({ repository: 'https://git.example.com/mallory/web' })] },
      { ...production, artifacts: [image({ origin: 'ci' })] },
    ],
  },
};

it('has a case for each template, and a line on the page', () => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  expect(names.sort()).toEqual(
    Object.keys(CASES)
      .map((name) => `${name}.yaml`)
      .sort(),
  );
  const page = readFileSync(new URL('README.md', folder), 'utf8');
  for (const name of names) expect(page).toContain(`[${name}](${name})`);
});

it.each(Object.entries(CASES))('%s allows and refuses what it says', (name, { allows, denies }) => {
  const document = documentOf(name);
  const outcomeOf = (input: Partial<PolicyInput>): string =>
    judge.judge({ policyId: name, revision: 1, document }, bindingsOf({ ...emptyInput(), ...input })).outcome;
  expect(outcomeOf(allows)).toBe('allow');
  expect(denies.map(outcomeOf)).toEqual(denies.map(() => 'deny'));
});

it.each(['two-approvals', 'default-branch'])('%s leaves other environments alone', (name) => {
  const bindings = bindingsOf({ ...emptyInput(), artifacts: [image({ branch: 'fix' })] });
  expect(judge.judge({ policyId: name, revision: 1, document: documentOf(name) }, bindings).outcome).toBe(
    'skipped',
  );
});
