/** Promotions that wait: for people first of all, then for a runner or for whoever deploys them. */
import type { Environment, Promotion } from '@svc/sdk';
import { CardTable, Cell } from '../../table.tsx';
import { Button } from '../../button.tsx';
import { sentence } from '../../api.ts';
import { follow, hrefWith } from '../../router.ts';
import { roleIn, type SignedIn } from '../../session.ts';
import { Ago } from '../../time.tsx';
import { Standing } from '../../fact.tsx';
import { ask } from './question.ts';
import { standing, waitingIn, whyNot, type Column } from './words.ts';

export interface QueueProps {
  readonly columns: readonly Column[];
  readonly session: SignedIn;
}

export function Queue({ columns, session }: QueueProps) {
  const waiting = waitingIn(columns);
  return (
    <section class="queue" aria-labelledby="queue-title" tabIndex={-1}>
      <h2 id="queue-title">What waits</h2>
      {waiting.length === 0 ? (
        <p class="muted">No promotion waits for anything.</p>
      ) : (
        <CardTable
          class="queue-table"
          caption="Promotions that wait, newest first"
          columns={['Release', 'To', 'State', 'Waits for', 'Asked for', 'Approval']}
        >
          <tbody role="rowgroup">
            {waiting.map(({ promotion, environment }) => (
              <Row key={promotion.id} promotion={promotion} environment={environment} session={session} />
            ))}
          </tbody>
        </CardTable>
      )}
    </section>
  );
}

interface RowProps {
  readonly promotion: Promotion;
  readonly environment: Environment;
  readonly session: SignedIn;
}

function Row({ promotion, environment, session }: RowProps) {
  return (
    <tr role="row" class="row">
      <th scope="row" role="rowheader">
        <a class="release-link" href={hrefWith({ release: promotion.releaseId })} onClick={follow}>
          {promotion.version}
        </a>
      </th>
      <Cell class="cell-to" of={environment.name} />
      <Cell class="cell-state" of={<Standing of={standing(promotion, false)} />} />
      <Cell
        class="cell-waits"
        of={promotion.waitingFor !== undefined && sentence(promotion.waitingFor.text)}
      />
      <Cell class="cell-asked muted" of={<Ago at={promotion.createdAt} />} />
      <td role="cell" class="cell-approve">
        {promotion.state === 'pending' && (
          <Decision promotion={promotion} environment={environment} session={session} />
        )}
      </td>
    </tr>
  );
}

function Decision({ promotion, environment, session }: RowProps) {
  const person = { userId: session.who.userId, role: roleIn(session, promotion.teamId) };
  return (
    <>
      <Button
        text="Review"
        look="small"
        label={`Review ${promotion.version} for ${environment.name}`}
        onClick={() => ask({ promotionId: promotion.id, kind: 'review' })}
      />
      <span class="muted">{whyNot(promotion, environment, person)}</span>
    </>
  );
}
