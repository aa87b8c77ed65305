/**
 * Releases of the project that the address names, against its environments, and what waits to be approved.
 */
import { useEffect } from 'preact/hooks';
import type { Environment, Project } from '@svc/sdk';
import type { PageProps } from '../../page.ts';
import { Unread } from '../../reading.tsx';
import { follow, param } from '../../router.ts';
import { roleIn, type SignedIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { columnsOf, ENVIRONMENTS_MAX, useDelivery, withPromotion } from './delivery.ts';
import { Matrix } from './matrix.tsx';
import { Queue } from './queue.tsx';
import { RejectDialog } from './reject-dialog.tsx';
import { ReleaseDrawer } from './release-drawer.tsx';
import { ReviewDialog, type ReviewDialogProps } from './review-dialog.tsx';
import { closeDialog, dialog } from './question.ts';
import type { Column } from './words.ts';

export function ReleasesPage({ session, place: { project, environments: all, base } }: PageProps) {
  if (project === undefined) return null;
  const env = param('env');
  // One environment by its address, such as those that have no column.
  const shown = env === undefined ? all.slice(0, ENVIRONMENTS_MAX) : all.filter(({ id }) => id === env);
  return (
    <div class="releases">
      <h1>Releases</h1>
      {shown.length < all.length && (
        <p class="muted">
          {env === undefined
            ? `The first ${ENVIRONMENTS_MAX} of ${all.length} environments; `
            : 'One environment; '}
          <a href={`${base}/releases`} onClick={follow}>
            show the project
          </a>
        </p>
      )}
      {shown.length === 0 ? (
        <div class="empty">
          <p>{project.name} has no environment yet.</p>
          <p>
            <a class="button" href={base} onClick={follow}>
              Create one
            </a>
          </p>
        </div>
      ) : (
        <ProjectReleases
          key={`${project.id} ${env ?? ''}`}
          project={project}
          environments={shown}
          session={session}
        />
      )}
    </div>
  );
}

interface ProjectReleasesProps {
  readonly project: Project;
  readonly environments: readonly Environment[];
  readonly session: SignedIn;
}

function ProjectReleases({ project, environments, session }: ProjectReleasesProps) {
  const read = useDelivery(project.id, environments);
  useEffect(() => closeDialog, []);
  const known = read.data.value;
  const unknown = read.unknown.value;
  if (known === undefined) return <Unread of={read} what="the releases" />;
  const releaseId = param('release');
  const columns = columnsOf(known, environments);
  return (
    <>
      <StaleNotice of={read} />
      <Queue columns={columns} session={session} />
      <Matrix project={project} of={known} columns={columns} doubtful={unknown !== undefined} />
      {releaseId !== undefined && <ReleaseDrawer key={releaseId} project={project} releaseId={releaseId} />}
      <Dialogs
        columns={columns}
        session={session}
        onAnswer={(answered) => read.replace(withPromotion(read.data.peek() ?? known, answered))}
        onRefusal={() => void read.load()}
      />
    </>
  );
}

interface DialogsProps extends Pick<ReviewDialogProps, 'onAnswer' | 'onRefusal'> {
  readonly columns: readonly Column[];
  readonly session: SignedIn;
}

function Dialogs({ columns, session, ...on }: DialogsProps) {
  const about = dialog.value;
  // As it was read last: others may have approved it while it is asked about.
  const column = columns.find(({ promotions }) => promotions.some(({ id }) => id === about?.promotionId));
  const promotion = column?.promotions.find(({ id }) => id === about?.promotionId);
  if (about === undefined || column === undefined || promotion === undefined) return null;
  const { environment } = column;
  const { id, state, approvals, teamId } = promotion;
  if (about.kind === 'reject')
    return <RejectDialog key={`${id} reject`} promotion={promotion} environment={environment} {...on} />;
  return (
    <ReviewDialog
      key={id}
      promotion={promotion}
      environment={environment}
      person={{ userId: session.who.userId, role: roleIn(session, teamId) }}
      as={`${state} ${approvals.length} ${column.running?.image.since}`}
      {...on}
    />
  );
}
