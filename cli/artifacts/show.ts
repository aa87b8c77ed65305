/** `svc artifacts show` shows an artifact, where it came from and what is stated about it. */
import {
  Artifacts,
  type Artifact,
  type ArtifactSbom,
  type ArtifactSource,
  type Attestation,
  type SbomList,
} from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import type { Paint } from '../shell/color.ts';
import { labelled, neutraliseLine } from '../shell/text.ts';
import { PROVENANCE_TYPE } from './checks.ts';
import { formatRelative } from '../shell/time.ts';

export function show(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} With what is stated about it, newest first: at most the first page, 20 statements. What each is worth is found out by the server; "svc artifacts verify" finds it out here.`,
    examples: [{ title: 'By id', cli: 'artifacts show art_01 --team team_01' }],
    answer: { artifact: 'svc.artifacts.v1.Artifact', attestations: 'svc.artifacts.v1.Attestation' },
    run: showArtifact,
  };
}

async function showArtifact(context: Context): Promise<void> {
  const { input, output, signal, io } = context;
  const which = [String(input['teamId']), String(input['artifactId'])] as const;
  const artifacts = new Artifacts(await context.client());
  const [artifact, page] = await Promise.all([
    artifacts.get(...which, { signal }),
    artifacts.attestationsPage(...which, {}, { signal }),
  ]);
  const { attestations, nextCursor } = page;
  if (output.format === 'table') {
    const lines = [
      ...describeArtifact(artifact, io.now()),
      ...attestations.map((each) => line('statement', describeAttestation(each, output.paint))),
      ...(nextCursor === undefined && isUnstated(artifact, attestations) ? [NO_PROVENANCE] : []),
    ];
    await output.raw(`${lines.join('\n')}\n`);
  } else await output.value({ artifact, attestations });
  if (nextCursor !== undefined)
    await output.note(
      `there are more statements: svc artifacts attestations ${artifact.id} --team ${artifact.teamId} --cursor ${nextCursor}`,
    );
}

/** A build of the platform made it, and nothing says so yet. */
function isUnstated({ sources }: Artifact, attestations: readonly Attestation[]): boolean {
  const isStated = attestations.some(({ predicateType }) => predicateType === PROVENANCE_TYPE);
  return !isStated && sources.some(({ origin }) => origin === 'build');
}

/** `text` is harmless already. */
const line = labelled(9);

const NO_PROVENANCE = line(
  'statement',
  `${PROVENANCE_TYPE}  not there yet: the service signs it moments after the build; when its key was revoked or replaced, up to 15 minutes after that`,
);

function describeArtifact(artifact: Artifact, nowMs: number): string[] {
  const { id, name, kind, digest, uri, mediaType, platform, createdAt, sources, sbom } = artifact;
  const told: readonly (readonly [string, string])[] = [
    ['artifact', `${name} (${kind})`],
    ['id', id],
    ['digest', digest],
    ...(mediaType === undefined ? [] : [['type', mediaType] as const]),
    ...(platform === undefined ? [] : [['platform', platform] as const]),
    ['since', `${createdAt} (${formatRelative(Date.parse(createdAt), nowMs)})`],
    ...(uri === undefined ? [] : [['bytes', uri] as const]),
    ...sources.map((source) => ['source', describeSource(source)] as const),
    ['packages', describeSbom(sbom)],
    ...(sbom?.lists ?? []).map((list) => ['list', describeList(list)] as const),
  ];
  return told.map(([label, text]) => line(label, neutraliseLine(text)));
}

const ORIGINS: Readonly<Record<string, string>> = {
  build: 'build',
  ci_run: 'CI run',
  declared: 'declared by',
};

/** `build bld_1 of web/production at commit 3f2a9c1d5e7b by runner rnr_1, region eu` */
function describeSource(source: ArtifactSource): string {
  const { origin, ref, repository, commit, runnerId, regionId } = source;
  const project = source.projectName ?? source.projectId;
  const environment = source.environmentName ?? source.environmentId;
  const place = [project, environment].filter((part) => part !== undefined).join('/');
  const from = place === '' ? repository : place;
  return [
    `${ORIGINS[origin] ?? origin} ${ref}`,
    ...(from === undefined ? [] : [` of ${from}`]),
    ...(commit === undefined ? [] : [` at commit ${commit.slice(0, 12)}`]),
    ...(runnerId === undefined ? [] : [` by runner ${runnerId}`]),
    ...(regionId === undefined ? [] : [`, region ${regionId}`]),
  ].join('');
}

function describeSbom({ packages, unread = [], problem }: Partial<ArtifactSbom> = {}): string {
  if (packages === undefined) return problem === undefined ? 'not known' : `not known: ${problem}`;
  return unread.length === 0 ? String(packages) : `${packages} (not read: ${unread.join(', ')})`;
}

const LISTERS: Readonly<Record<string, string>> = { runner: 'runner', upload: 'uploaded by' };

/** `uploaded by user_1: 3 packages, of which the runner lists 2 not and 1 otherwise; it lacks 1` */
function describeList({ source, by = 'nobody known', packages, difference }: SbomList): string {
  const listed = `${LISTERS[source] ?? source} ${by}: ${packages} packages`;
  if (difference === undefined) return listed;
  const { added, lacking, otherwise } = difference;
  return `${listed}, of which the runner lists ${added} not and ${otherwise} otherwise; it lacks ${lacking}`;
}

/** A statement that is not valid has its status first, in letters that are seen without colours too. */
function describeAttestation({ predicateType, verification }: Attestation, paint: Paint): string {
  const { status, problem, signer } = verification;
  const by = signer === undefined ? '' : ` by ${neutraliseLine(signer)}`;
  if (status === 'valid') return `${neutraliseLine(predicateType)}  ${paint('green', status)}${by}`;
  const why = problem === undefined ? '' : `: ${problem}`;
  const worth = paint('red', neutraliseLine(`${status.toUpperCase()}${why}`));
  return `${neutraliseLine(predicateType)}  ${worth}${by === '' ? '' : `, signed${by}`}`;
}
