/**
 * Features whose switch is where the worker's environment says. The worker's variable counts, because the
 * worker is what acts on it; the other processes read the switch. Several workers that say different things
 * would each write their own at their start.
 */
import type { SwitchState } from '@svc/proto/features/definition.ts';
import type { Clock } from '../base/clock.ts';
import type { Database } from '../base/db/index.ts';
import { effectiveOf, type Rules } from './effective.ts';
import { writeMove } from './move.ts';
import { lockStates, readStates } from './store.ts';

export async function applyEnvironment(db: Database, clock: Clock, rules: Rules): Promise<void> {
  for (const definition of rules.manifest) {
    const { environment } = definition;
    if (environment?.decides !== 'always') continue;
    const value = rules.variables[environment.variable];
    if (value === undefined) continue;
    const to: SwitchState = value ? 'enabled' : 'disabled';
    await db.transact(async (tx) => {
      await lockStates(tx.sql);
      const before = effectiveOf(rules, await readStates(tx.sql));
      if (before.states.get(definition.key) === to) return;
      await writeMove(
        tx,
        { rules, before },
        {
          definition,
          to,
          reason: `${environment.variable} is ${String(value)} in the environment of a worker`,
          actor: { kind: 'system', id: environment.variable, display: environment.variable },
          display: environment.variable,
          source: 'boot',
          requestId: '',
          at: clock.now(),
        },
      );
    });
  }
}
