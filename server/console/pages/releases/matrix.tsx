/** Releases, newest first, against environments: what each has come to there. */
import { useSignal } from '@preact/signals';
import type { Project, Promotion, Release } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { explain, isUnauthenticated } from '../../api.ts';
import { follow, hrefWith } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { releases } from './calls.ts';
import { Standing } from './standing.tsx';
import { RELEASES_PAGE } from './store.ts';
import type { Delivery } from './store.ts';
import { cellOf, currentOf, sinceOf, standing } from './words.ts';
import type { Column } from './words.ts';

export interface MatrixProps {
  readonly project: Project;
  readonly of: Delivery;
  readonly doubtful: boolean;
}

export function Matrix({ project, of, doubtful }: MatrixProps) {
  const older = useSignal<readonly Release[]>([]);
  const next = useSignal<string | undefined | null>(null);
  const busy = useSignal(false);
  const cursor = next.value === null ? of.nextCursor : next.value;
  const loadOlder = async (): Promise<void> => {
    if (busy.value || cursor === undefined) return;
    busy.value = true;
    try {
      const page = await releases.listPage(project.id, { limit: RELEASES_PAGE, cursor });
      older.value = [...older.value, ...page.releases];
      next.value = page.nextCursor;
    } catch (error) {
      if (!isUnauthenticated(error)) announce(explain(error));
    } finally {
      busy.value = false;
    }
  };
  const shown = [...new Map([...of.releases, ...older.value].map((each) => [each.id, each])).values()];
  return (
    <>
      <h2 id="matrix-title">Where each release is</h2>
      {shown.length === 0 ? (
        <div class="empty">
          <p>{project.name} has no release yet.</p>
          <p>
            <code>svc releases create 1.0.0 --project {project.id} --build &lt;build_id&gt;</code> makes one
            of what a build published.
          </p>
        </div>
      ) : (
        // Many environments are wider than the page: this part alone moves.
        <div
          class="matrix-frame"
          role="region"
          aria-labelledby="matrix-title"
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by the keyboard
          tabIndex={0}
        >
          <Table releases={shown} project={project} columns={of.columns} doubtful={doubtful} />
        </div>
      )}
      {cursor !== undefined && (
        <button
          class="button button-wide older"
          type="button"
          aria-disabled={busy.value ? 'true' : undefined}
          onClick={() => void loadOlder()}
        >
          {busy.value ? 'Loading…' : 'Load older'}
        </button>
      )}
    </>
  );
}

interface TableProps {
  readonly releases: readonly Release[];
  readonly project: Project;
  readonly columns: readonly Column[];
  readonly doubtful: boolean;
}

function Table({ releases: shown, project, columns, doubtful }: TableProps) {
  return (
    <table class={doubtful ? 'table matrix doubtful' : 'table matrix'} role="table">
      <caption class="visually-hidden">Releases of {project.name}, newest first, by environment</caption>
      <thead role="rowgroup">
        <tr role="row">
          {['Release', ...columns.map(({ environment }) => environment.name)].map((name) => (
            <th key={name} scope="col" role="columnheader">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {shown.map((release) => (
          <tr key={release.id} role="row" class="row">
            <th scope="row" role="rowheader" class="cell-release">
              <a class="release-link" href={hrefWith({ release: release.id })} onClick={follow}>
                {release.version}
              </a>
              <span class="muted">
                <Ago at={release.createdAt} />
              </span>
            </th>
            {columns.map((column) => (
              <Cell key={column.environment.id} column={column} release={release} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({ column, release }: { readonly column: Column; readonly release: Release }) {
  const cell = cellOf(column, release);
  const current = currentOf(column);
  return (
    <td role="cell" class="cell-standing">
      <span class="cell-environment muted" aria-hidden="true">
        {column.environment.name}
      </span>
      {cell === 'unread' ? (
        <span class="muted" title="It is older than the promotions that were read.">
          Not read
        </span>
      ) : cell.length === 0 ? (
        <span class="muted">
          <span aria-hidden="true">–</span>
          <span class="visually-hidden">Not promoted</span>
        </span>
      ) : (
        cell.map((promotion) => (
          <Stands key={promotion.id} promotion={promotion} isCurrent={promotion === current} />
        ))
      )}
    </td>
  );
}

function Stands({ promotion, isCurrent }: { readonly promotion: Promotion; readonly isCurrent: boolean }) {
  const { environmentId, buildId, reason } = promotion;
  return (
    <div class="stands">
      <Standing of={standing(promotion, isCurrent)} />
      <span class="muted">
        <Ago at={sinceOf(promotion)} />
        {buildId !== undefined && (
          <>
            {' · '}
            <a
              href={`/console/builds?env=${encodeURIComponent(environmentId)}&build=${encodeURIComponent(buildId)}`}
              onClick={follow}
            >
              build
            </a>
          </>
        )}
      </span>
      {reason !== undefined && (
        <p class="build-message" title={reason}>
          {reason}
        </p>
      )}
    </div>
  );
}
