/**
 * Shows releases, newest first, against environments: what runs in each, since when and how it came, and what
 * else has come of each release there.
 */
import type { ComponentChildren } from 'preact';
import type { Project, Promotion, Release, RunningImage } from '@svc/sdk';
import { CardTable } from '../../table.tsx';
import { useOlder } from '../../load-older.tsx';
import { environmentHref } from '../../place.ts';
import { follow, hrefWith } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { releases } from './calls.ts';
import { Standing } from '../../fact.tsx';
import { RELEASES_PAGE, type Delivery } from './delivery.ts';
import { cellOf, HOW, isNewest, shortDigest, sinceOf, standing, unlisted, type Column } from './words.ts';

export interface MatrixProps {
  readonly project: Project;
  readonly of: Delivery;
  readonly columns: readonly Column[];
  readonly doubtful: boolean;
}

const partOf = ({ releases: items, nextCursor }: Pick<Delivery, 'releases' | 'nextCursor'>) => ({
  items,
  nextCursor,
});

export function Matrix({ project, of, columns, doubtful }: MatrixProps) {
  const withOlder = useOlder(async (cursor) =>
    partOf(await releases.listPage(project.id, { limit: RELEASES_PAGE, cursor })),
  );
  const { items: shown, button } = withOlder(partOf(of));
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
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keys must reach what scrolls
          tabIndex={0}
        >
          <Table releases={shown} project={project} columns={columns} doubtful={doubtful} />
        </div>
      )}
      {button}
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
    <CardTable
      class="matrix"
      caption={`Releases of ${project.name}, newest first, by environment`}
      columns={['Release', ...columns.map(({ environment }) => environment.name)]}
      doubtful={doubtful}
    >
      <tbody role="rowgroup">
        <Unlisted columns={columns} of={shown} />
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
    </CardTable>
  );
}

/** The column of an environment that runs what has no row here says so first. */
function Unlisted({ columns, of }: { readonly columns: readonly Column[]; readonly of: readonly Release[] }) {
  if (columns.every((column) => unlisted(column, of) === undefined)) return null;
  return (
    <tr role="row" class="row">
      <th scope="row" role="rowheader" class="cell-release muted">
        Not listed here
      </th>
      {columns.map((column) => {
        const runs = unlisted(column, of);
        return (
          <Place key={column.environment.id} column={column}>
            {runs === undefined ? <None /> : <Runs of={runs} named />}
          </Place>
        );
      })}
    </tr>
  );
}

function Cell({ column, release }: { readonly column: Column; readonly release: Release }) {
  const { runs, promotion } = cellOf(column, release);
  return (
    <Place column={column}>
      {runs !== undefined && <Runs of={runs} />}
      {promotion === 'unread' ? (
        <span class="muted" title="It is older than the promotions that were read.">
          Not read
        </span>
      ) : promotion === undefined ? (
        runs === undefined && <None>Not promoted</None>
      ) : (
        <Promoted of={promotion} isNewest={isNewest(column, promotion)} />
      )}
    </Place>
  );
}

interface PlaceProps {
  readonly column: Column;
  readonly children: ComponentChildren;
}

const Place = ({ column, children }: PlaceProps) => (
  <td role="cell" class="cell-standing">
    <span class="cell-environment muted" aria-hidden="true">
      {column.environment.name}
    </span>
    {children}
  </td>
);

const None = ({ children = 'Nothing' }: { readonly children?: string }) => (
  <span class="muted">
    <span aria-hidden="true">–</span>
    <span class="visually-hidden">{children}</span>
  </span>
);

function Runs({ of, named = false }: { readonly of: RunningImage; readonly named?: boolean }) {
  const { environmentId, how, image } = of;
  const { buildId, digest, since, version } = image;
  return (
    <div class="stands">
      <Standing of={['Runs', 'good']} />
      {named && (version === undefined ? <code title={digest}>{shortDigest(digest ?? '')}</code> : version)}
      <span class="muted">
        {HOW[how]}
        {since !== undefined && (
          <>
            , <Ago at={since} />
          </>
        )}
        <BuildLink environmentId={environmentId} buildId={buildId} />
      </span>
    </div>
  );
}

function Promoted({ of, isNewest: newest }: { readonly of: Promotion; readonly isNewest: boolean }) {
  const { environmentId, buildId, reason } = of;
  return (
    <div class="stands">
      <Standing of={standing(of, newest)} />
      <span class="muted">
        <Ago at={sinceOf(of)} />
        <BuildLink environmentId={environmentId} buildId={buildId} />
      </span>
      {reason !== undefined && (
        <p class="build-message" title={reason}>
          {reason}
        </p>
      )}
    </div>
  );
}

interface BuildLinkProps {
  readonly environmentId: string;
  readonly buildId: string | undefined;
}

const BuildLink = ({ environmentId, buildId }: BuildLinkProps) =>
  buildId === undefined ? null : (
    <>
      {' · '}
      <a href={environmentHref(environmentId, 'builds', buildId)} onClick={follow}>
        build
      </a>
    </>
  );
