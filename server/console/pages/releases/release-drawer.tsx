/**
 * This view shows one release with its artifacts, and one of these. Both places are in the address, so that
 * they can be linked to.
 */
import type { Project, Release } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { Fact } from '../../fact.tsx';
import { Fetched } from '../../fetched.tsx';
import { Drawer } from '../../modal.tsx';
import { Unread } from '../../reading.tsx';
import { follow, hrefWith, param, setParams } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { releases } from './calls.ts';
import { shortDigest } from './words.ts';

const TITLE = 'release-title';

const loadArtifact = async () => (await import('./artifact-view.tsx')).ArtifactView;

const close = (): void => setParams({ release: undefined, artifact: undefined }, { replace: true });

export interface ReleaseDrawerProps {
  readonly project: Project;
  readonly releaseId: string;
}

export function ReleaseDrawer({ project, releaseId }: ReleaseDrawerProps) {
  const read = useRead(
    `release ${project.id} ${releaseId}`,
    async () => await ifMissing('absent' as const, async () => await releases.get(project.id, releaseId)),
  );
  const known = read.data.value;
  const artifactId = param('artifact');
  const release = known === 'absent' ? undefined : known;
  const artifact = release?.artifacts.find(({ id }) => id === artifactId);
  return (
    // The key makes another dialog for each thing, so that the focus is at its beginning then.
    <Drawer
      key={artifactId ?? ''}
      id={TITLE}
      title={artifact?.name ?? `Release ${release?.version ?? ''}`}
      onClose={close}
    >
      {known === 'absent' ? (
        <p>There is no such release in {project.name}.</p>
      ) : release === undefined ? (
        <Unread of={read} what="the release" plain />
      ) : artifact === undefined ? (
        <Contents release={release} isLost={artifactId !== undefined} />
      ) : (
        <Fetched
          load={loadArtifact}
          props={{ teamId: release.teamId, artifactId: artifact.id, version: release.version }}
        />
      )}
    </Drawer>
  );
}

/** Shows the release. `isLost` says that the address names an artifact that the release does not have. */
function Contents({ release, isLost }: { readonly release: Release; readonly isLost: boolean }) {
  return (
    <>
      <dl class="facts">
        <Fact name="Made" of={<Ago at={release.createdAt} />} />
        <Fact name="Digest" of={<code>{release.digest}</code>} />
        {release.notes !== '' && <Fact name="Notes">{release.notes}</Fact>}
      </dl>
      <section class="part" aria-labelledby="artifacts-title">
        <h3 id="artifacts-title">Artifacts</h3>
        {isLost && <p class="muted">The artifact of this address is none of them.</p>}
        {release.artifacts.length === 0 ? (
          <p class="muted">It has none.</p>
        ) : (
          <ul class="artifacts">
            {release.artifacts.map(({ id, name, kind, digest }) => (
              <li key={id}>
                <a class="release-link" href={hrefWith({ artifact: id })} onClick={follow}>
                  {name}
                </a>
                <span class="muted">
                  {kind} · <code title={digest}>{shortDigest(digest)}</code>
                </span>
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
