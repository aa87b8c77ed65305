/** Shows one artifact: where it came from, who says what about it, what it is made of, and where it went. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type {
  Artifact,
  ArtifactsAttestationsResponse,
  Attestation,
  ArtifactSource,
  ArtifactsLineageResponse,
  SbomList,
} from '@svc/sdk';
import { Button } from '../../button.tsx';
import { ifMissing, sentence } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { Fact, Standing } from '../../fact.tsx';
import { Unread } from '../../reading.tsx';
import { setParams } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { artifacts } from './calls.ts';
import { LineageDrawing } from './lineage-drawing.tsx';
import { RemovalDialog, removalOfList, removalOfStatement, type Removal } from './removal.tsx';
import {
  cameOf,
  differenceOf,
  isRemovable,
  KIND,
  ORIGIN,
  provenanceOf,
  STATUS,
  statementName,
} from './words.ts';

interface KnownArtifact {
  readonly artifact: Artifact;
  readonly said: ArtifactsAttestationsResponse;
  readonly lineage: ArtifactsLineageResponse;
  /** It is undefined where there is no passport yet. */
  readonly gaps: readonly string[] | undefined;
}

async function readArtifact(teamId: string, id: string): Promise<KnownArtifact> {
  const [artifact, said, lineage, gaps] = await Promise.all([
    artifacts.get(teamId, id),
    artifacts.attestationsPage(teamId, id),
    artifacts.lineage(teamId, id),
    readGaps(teamId, id),
  ]);
  return { artifact, said, lineage, gaps };
}

const readGaps = async (teamId: string, id: string): Promise<readonly string[] | undefined> =>
  await ifMissing(undefined, async () => {
    const { gaps } = (await artifacts.passport(teamId, id)).document;
    return Array.isArray(gaps) ? gaps.map(String) : [];
  });

export interface ArtifactViewProps {
  readonly teamId: string;
  readonly artifactId: string;
  readonly version: string;
}

export function ArtifactView({ teamId, artifactId, version }: ArtifactViewProps) {
  const read = useRead(
    `artifact in full ${teamId} ${artifactId}`,
    async () => await readArtifact(teamId, artifactId),
  );
  const known = read.data.value;
  const removing = useSignal<Removal | undefined>(undefined);
  return (
    <>
      <Button look="small" onClick={() => setParams({ artifact: undefined }, { replace: true })}>
        ‹ Release {version}
      </Button>
      {known !== undefined ? (
        <Parts of={known} remove={(removal) => (removing.value = removal)} />
      ) : (
        <Unread of={read} what="the artifact" plain />
      )}
      {removing.value !== undefined && (
        <RemovalDialog
          removal={removing.value}
          onRemoved={() => void read.load()}
          onClose={() => (removing.value = undefined)}
        />
      )}
    </>
  );
}

interface PartsProps {
  readonly of: KnownArtifact;
  readonly remove: (removal: Removal) => void;
}

function Parts({ of: { artifact, said, lineage, gaps }, remove }: PartsProps) {
  const lists = artifact.sbom?.lists ?? [];
  return (
    <>
      <dl class="facts">
        <Fact name="Kind">{artifact.kind}</Fact>
        <Fact name="Digest" of={<code>{artifact.digest}</code>} />
        <Fact name="First seen" of={<Ago at={artifact.createdAt} />} />
        <Fact name="Provenance" of={<Standing of={provenanceOf(said.attestations)} />} />
        <Fact name="Packages">{packagesOf(artifact)}</Fact>
      </dl>
      <Part id="sources" title="Sources">
        <ul class="artifacts">
          {artifact.sources.map((source) => (
            <Source key={`${source.origin} ${source.ref}`} source={source} />
          ))}
        </ul>
      </Part>
      {lists.length > 0 && (
        <Part id="lists" title="Lists of packages">
          <Lists of={lists} remove={(list) => remove(removalOfList(artifact, list))} />
        </Part>
      )}
      <Part id="statements" title="Statements">
        <Statements of={said} remove={(statement) => remove(removalOfStatement(artifact, statement))} />
      </Part>
      <Part id="gaps" title="What its passport misses">
        <Gaps gaps={gaps} />
      </Part>
      <Part id="lineage" title="Lineage">
        <Lineage of={lineage} />
      </Part>
    </>
  );
}

function packagesOf({ sbom }: Artifact): string {
  if (sbom?.packages !== undefined) return sbom.packages.toLocaleString('en');
  return sbom?.problem === undefined ? 'not known' : `not known: ${sbom.problem}`;
}

interface PartProps {
  readonly id: string;
  readonly title: string;
  readonly children: ComponentChildren;
}

function Part({ id, title, children }: PartProps) {
  return (
    <section class="part" aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>{title}</h3>
      {children}
    </section>
  );
}

function Source({ source }: { readonly source: ArtifactSource }) {
  const of = [source.projectName, source.environmentName].filter(Boolean).join(', ');
  return (
    <li>
      <span>
        <strong>{ORIGIN[source.origin]}</strong>
        {of !== '' && ` · ${of}`}{' '}
        <span class="muted">
          <Ago at={source.at} />
        </span>
      </span>
      <span class="muted">
        <code>{source.ref}</code>
        {source.repository !== undefined && ` · ${source.repository}`}
        {source.commit !== undefined && (
          <>
            {' · '}
            <code>{source.commit}</code>
          </>
        )}
      </span>
    </li>
  );
}

interface ListsProps {
  readonly of: readonly SbomList[];
  readonly remove: (list: SbomList) => void;
}

function Lists({ of: lists, remove }: ListsProps) {
  return (
    <ul class="artifacts">
      {lists.map((list) => (
        <li key={`${list.source} ${list.sha256}`}>
          <span class="statement">
            <strong>{list.source === 'runner' ? 'Listed by its runner' : 'Uploaded'}</strong>
            {list.source === 'upload' && <Button text="Remove" look="small" onClick={() => remove(list)} />}
          </span>
          <span class="muted">
            {list.packages.toLocaleString('en')} packages, <Ago at={list.at} />
            {list.by !== undefined && (
              <>
                {' · '}
                <code>{list.by}</code>
              </>
            )}
            {list.difference !== undefined && `. ${differenceOf(list.difference)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface StatementsProps {
  readonly of: ArtifactsAttestationsResponse;
  readonly remove: (statement: Attestation) => void;
}

function Statements({ of: { attestations, nextCursor }, remove }: StatementsProps) {
  if (attestations.length === 0) return <p class="muted">Nothing is stated about it.</p>;
  return (
    <>
      <ul class="artifacts">
        {attestations.map((statement) => {
          const { id, predicateType, verification, createdAt } = statement;
          return (
            <li key={id}>
              <span class="statement">
                <strong title={predicateType}>{statementName({ predicateType })}</strong>
                <Standing of={STATUS[verification.status]} />
                {isRemovable(statement) && (
                  <Button text="Remove" look="small" onClick={() => remove(statement)} />
                )}
              </span>
              <span class="muted">
                {verification.signer !== undefined && `by ${verification.signer}, `}
                <Ago at={createdAt} />
                {verification.problem !== undefined && `. ${sentence(verification.problem)}`}
              </span>
            </li>
          );
        })}
      </ul>
      {nextCursor !== undefined && <p class="muted">These are the newest; there are more.</p>}
    </>
  );
}

function Gaps({ gaps }: { readonly gaps: readonly string[] | undefined }) {
  if (gaps === undefined) return <p class="muted">It has no passport yet.</p>;
  if (gaps.length === 0) return <p>Nothing.</p>;
  return (
    <ul class="gaps">
      {gaps.map((gap) => (
        <li key={gap}>{sentence(gap)}</li>
      ))}
    </ul>
  );
}

function Lineage({ of }: { readonly of: ArtifactsLineageResponse }) {
  return (
    <>
      <LineageDrawing of={of} />
      <ol class="changes">
        {of.nodes.map((node) => {
          const before = cameOf(node, of);
          return (
            <li
              key={`${node.kind} ${node.id}`}
              class={node.kind === 'artifact' ? 'change change-on' : 'change'}
            >
              <p class="change-head">
                <span class="change-move">
                  {KIND[node.kind]} {node.name}
                  {node.state !== undefined && `, ${node.state}`}
                </span>
                {node.at !== undefined && (
                  <span class="muted">
                    <Ago at={node.at} />
                  </span>
                )}
              </p>
              <p class="change-by muted">
                <code>{node.id}</code>
                {before !== '' && ` · of ${before}`}
              </p>
            </li>
          );
        })}
      </ol>
      {of.truncated && <p class="muted">There is more behind it than is shown.</p>}
    </>
  );
}
