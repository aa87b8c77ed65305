/**
 * This file tells people who write rules what each part of the input says. The reference page is printed from
 * it.
 */
import type { INPUT } from './input.ts';

/** `environment.name`; of what is in a list `artifacts[].packages[].name`. */
type Paths<Fields> = {
  [K in keyof Fields & string]:
    | K
    | (Fields[K] extends { readonly list: { readonly fields: infer Inner } }
        ? `${K}[].${Paths<Inner>}`
        : Fields[K] extends { readonly fields: infer Inner }
          ? `${K}.${Paths<Inner>}`
          : never);
}[keyof Fields & string];

export const ABOUT: Readonly<Record<Paths<(typeof INPUT)['fields']>, string>> = {
  action: 'The act: `build.create`, `release.create`, `promotion.create`, `promotion.approve` or `deploy`.',
  now: 'Time of the gate.',
  actor: 'Who acts.',
  'actor.id': 'Account `user_…`, or the credential of a CI job; empty for the service itself.',
  'actor.kind': '`session`, `api_key`, `ci_job`, or `system` for the service itself.',
  'actor.role': 'Role in the team: `owner`, `admin`, `developer` or `viewer`; empty without one.',
  team: 'The team.',
  'team.id': 'Id, `team_…`.',
  'team.name': 'Name.',
  project: 'Project of the act.',
  'project.id': 'Id, `prj_…`.',
  'project.name': 'Name.',
  environment: 'Environment of the act; empty for a release.',
  'environment.id': 'Id, `env_…`.',
  'environment.name': 'Name.',
  'environment.region': "Id of the region where the team's work runs.",
  'environment.operator': 'Who operates its runners: `service` or `customer`.',
  'environment.promotionsOnly': 'True: promotions alone are deployed.',
  'environment.requiredApprovals': 'Approvals that a promotion needs.',
  build: 'The build that is made or deployed; empty for releases and the approval of promotions.',
  'build.id': 'Id, `bld_…`; empty in a preview, where it is not made yet.',
  'build.number': 'Number in its environment; 0 where it is not made yet.',
  'build.branch': 'Branch that is built.',
  'build.commit': 'Commit that was asked for; empty: the newest of the branch.',
  'build.trigger': '`manual`, `rollback` or `promotion`.',
  release: 'The release; empty where there is none.',
  'release.id': 'Id, `rel_…`.',
  'release.version': 'Version.',
  promotion: 'The promotion; empty where there is none.',
  'promotion.id': 'Id, `pro_…`.',
  'promotion.requestedBy': 'Account that asked for it.',
  'promotion.approvals':
    'Accounts whose approval counts, the one that is being given among them; in a preview an empty text for each that is missing.',
  artifacts: 'What is released, promoted or deployed. Of a deploy one image; of a build none.',
  'artifacts[].id': 'Id, `art_…`; empty for an image that is not made yet.',
  'artifacts[].kind': '`image`, `package`, `file`, `model` or `other`.',
  'artifacts[].name': 'Name; of an image its repository in the registry.',
  'artifacts[].digest': '`sha256:<hex>`; empty for an image that is not made yet.',
  'artifacts[].origin': 'Where it comes from: `build`, `ci_run` or `declared`; empty: not known.',
  'artifacts[].repository': 'Repository of its source; empty: not known.',
  'artifacts[].branch': 'Branch of its source; empty: not known.',
  'artifacts[].commit': 'Commit of its source; empty: not known.',
  'artifacts[].runner': 'Runner that built it; empty: not known.',
  'artifacts[].attestations':
    'Statements about it whose signature holds, made by the service or a signer that the team trusts.',
  'artifacts[].attestations[].predicateType': 'Type of the statement: `https://slsa.dev/provenance/v1`.',
  'artifacts[].attestations[].verified': 'True: it counts.',
  'artifacts[].attestations[].signer':
    'Name of the trusted key or identity; `the service (<purpose>)` for the service.',
  'artifacts[].attestations[].builderId': 'Builder that provenance names; empty otherwise.',
  'artifacts[].packages':
    'Packages, as each list of the artifact states them. Read only where a rule names `packages`.',
  'artifacts[].packages[].type': 'Type of its package URL: `npm`, `deb`, `maven`.',
  'artifacts[].packages[].name': 'Name, as its ecosystem writes it: `@scope/name`, `group:artifact`.',
  'artifacts[].packages[].version': 'Version; empty: not known.',
  'artifacts[].packages[].licenses':
    'Licences that are declared, concluded or were found in its files, as the list writes them. See `licence()`.',
  'artifacts[].evaluations': 'Evaluations of it.',
  'artifacts[].evaluations[].suiteId': 'Suite that was run.',
  'artifacts[].evaluations[].score': 'Score.',
  'artifacts[].evaluations[].evaluatedAt': 'Time of the evaluation.',
  'artifacts[].evaluations[].assuranceLevel': '`signed` by a trusted signer, or `self_attested` by a member.',
  'artifacts[].evaluations[].statedBy': 'Account of the member who stated it; empty for what was brought.',
  'artifacts[].evaluations[].signer': 'As of attestations.',
  'artifacts[].sbom': 'Its lists of packages.',
  'artifacts[].sbom.present': 'True: there is one.',
  'artifacts[].sbom.byRunner': 'True: a runner of the platform read the artifact itself.',
  'artifacts[].sbom.packages': 'Packages of the first list.',
  'artifacts[].sbom.unread': 'What the lists say that they leave out.',
};
