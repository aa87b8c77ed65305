/** Shows where a page is between all statements of a team and one receipt. */
import { teamHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { day, month } from './words.ts';

interface TrailProps {
  readonly teamId: string;
  /** Parts of the address behind `statements`, up to the page above this one. */
  readonly above: readonly string[];
  /** The day that the page is of. */
  readonly of?: string;
}

export function Trail({ teamId, above, of }: TrailProps) {
  const names = ['Statements', ...(of === undefined ? [] : [month(of), day(of)])];
  return (
    <nav class="trail" aria-label="Pages above">
      <ol>
        {[undefined, ...above].map((_, n) => (
          <li key={n}>
            <a href={teamHref(teamId, 'statements', ...above.slice(0, n))} onClick={follow}>
              {names[n]}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
