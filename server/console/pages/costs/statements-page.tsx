/** This page lists all statements that a team ever had, and leads to the month that is open. */
import type { PageProps } from '../../page.ts';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { nowMs } from '../../now.ts';
import { useStatements } from './statement-reads.ts';
import { StatementTable } from './statements.tsx';
import { month } from './words.ts';

export function StatementsPage({ place: { team } }: PageProps) {
  const teamId = team?.id ?? '';
  const read = useStatements(teamId);
  const known = read.data.value;
  const open = new Date(nowMs.value).toISOString().slice(0, 7);
  return (
    <div class="costs">
      <h1>Statements</h1>
      <StaleNotice of={read} />
      {known === undefined ? (
        <Unread of={read} what="the statements" />
      ) : (
        <section class="panel" aria-label="Statements">
          <p class="muted">
            Each month has one, in UTC.{' '}
            <a href={teamHref(teamId, 'statements', open)} onClick={follow}>
              {month(open)}
            </a>{' '}
            is still open.
          </p>
          {known === 'forbidden' ? (
            <p class="muted">Statements are shown to admins and owners of the team.</p>
          ) : (
            <StatementTable teamId={teamId} of={known} />
          )}
        </section>
      )}
    </div>
  );
}
