/**
 * This view shows the features of the companion service. They are read-only, and never a reason for this page
 * to fail.
 */
import type { CompanionFeatures, ResolvedFeature } from '@svc/sdk';
import { platformFeatures } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { CardTable, Cell } from '../../table.tsx';
import { Icon } from '../../icons.tsx';
import { Notice } from '../../notice.tsx';
import { At } from '../../time.tsx';
import { Key } from './key.tsx';
import { LIFECYCLE, effectiveState, VISIBILITY } from './words.ts';

/** The server itself asks it no more often than every ten seconds. */
const EVERY_MS = 30_000;

export function Companion() {
  const companion = useRead('companion', async () => await platformFeatures.companion(), EVERY_MS);
  const { value: now } = companion.data;
  const { value: unknown } = companion.unknown;
  return (
    <section class="companion" aria-labelledby="companion-title">
      <header class="section-head">
        <h2 id="companion-title">Companion service</h2>
        {now?.configured === true && (
          <p class="summary">
            Read-only
            {now.asOf !== undefined && (
              <span>
                {' '}
                · as of <At ms={Date.parse(now.asOf)} />
              </span>
            )}
          </p>
        )}
      </header>
      {unknown !== undefined && (
        <Notice kind="warn" role="status" again={companion.load}>
          <strong>
            Unknown since <At ms={unknown.sinceMs} />.
          </strong>{' '}
          {unknown.why}
        </Notice>
      )}
      {now === undefined ? (
        unknown === undefined && <p class="muted">Reading…</p>
      ) : now.configured ? (
        <Features of={now} again={companion.load} />
      ) : (
        <p class="muted">
          None is configured. With <code>COMPANION_URL</code> set, its features are shown here.
        </p>
      )}
    </section>
  );
}

interface FeaturesProps {
  readonly of: CompanionFeatures;
  readonly again: () => Promise<void>;
}

function Features({ of, again }: FeaturesProps) {
  const features = Object.entries(of.features);
  return (
    <>
      {of.degraded && (
        <Notice kind="warn" role="status" again={again}>
          <strong>The companion service is degraded</strong>
          {of.problem === undefined ? '. ' : `: ${of.problem}. `}
          {of.asOf === undefined
            ? 'Its features are unknown.'
            : 'Below is what it answered last; it may have changed since.'}
        </Notice>
      )}
      {features.length > 0 && (
        <CardTable
          class="table-plain"
          caption="Features of the companion service, read-only"
          columns={['Feature', 'Effective state', 'Lifecycle', 'Visibility']}
          doubtful={of.degraded}
        >
          <tbody role="rowgroup">
            {features.map(([key, feature]) => (
              <CompanionRow key={key} name={key} feature={feature} />
            ))}
          </tbody>
        </CardTable>
      )}
      {features.length === 0 && !of.degraded && <p class="muted">It names no features.</p>}
    </>
  );
}

function CompanionRow({ name, feature }: { readonly name: string; readonly feature: ResolvedFeature }) {
  const known = typeof feature === 'object' ? feature : { enabled: feature, blockedBy: [] };
  const state = effectiveState({ enabled: known.enabled, reason: known.reason ?? 'disabled' });
  return (
    <tr role="row">
      <th scope="row" role="rowheader" class="cell-feature">
        <code class="key">
          <Key of={name} />
        </code>
      </th>
      <td role="cell" class="cell-state">
        <div class={`state state-${state}`}>
          <p class="state-line">
            <Icon of={state} />
            <span>
              {state === 'on' ? 'On' : state === 'off' ? 'Off' : `Blocked by ${known.blockedBy.join(', ')}`}
            </span>
          </p>
        </div>
      </td>
      <td role="cell" class="cell-lifecycle">
        {known.lifecycle !== undefined && (
          <span class={`pill pill-${known.lifecycle}`}>{LIFECYCLE[known.lifecycle]}</span>
        )}
      </td>
      <Cell class="cell-visibility" of={known.visibility !== undefined && VISIBILITY[known.visibility]} />
    </tr>
  );
}
