/**
 * This view shows one row a feature, in the order of the manifest. On narrow screens the same rows are cards.
 */
import type { PlatformFeature } from '@svc/sdk';
import { CardTable, Cell } from '../../table.tsx';
import { Icon } from '../../icons.tsx';
import { follow, hrefWith } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { fresh } from './features.ts';
import { FeatureState } from './feature-state.tsx';
import { FeatureSwitch } from './feature-switch.tsx';
import { Key } from './key.tsx';
import { RowLinks } from './row-links.tsx';
import { rowId } from './rows.ts';
import { actorName, LIFECYCLE, VISIBILITY } from './words.ts';

export interface FeatureTableProps {
  readonly features: readonly PlatformFeature[];
  /** The rows may no longer be true. */
  readonly doubtful: boolean;
}

export function FeatureTable({ features, doubtful }: FeatureTableProps) {
  return (
    <CardTable
      caption="Platform features with their switches, effective states and last changes"
      columns={['Feature', 'Switch', 'Effective state', 'Lifecycle', 'Visibility', 'Last change', 'History']}
      doubtful={doubtful}
    >
      <tbody role="rowgroup">
        {features.map((feature) => (
          <FeatureRow key={feature.key} feature={feature} />
        ))}
      </tbody>
    </CardTable>
  );
}

function FeatureRow({ feature }: { readonly feature: PlatformFeature }) {
  const { key } = feature;
  return (
    <tr id={rowId(key)} role="row" tabIndex={-1} class={fresh.value.has(key) ? 'row fresh' : 'row'}>
      <th scope="row" role="rowheader" class="cell-feature">
        <code class="key" id={`key-${key}`}>
          <Key of={key} />
        </code>
        <p class="description">{feature.description}</p>
        <Needs keys={feature.dependsOn} />
      </th>
      <Cell class="cell-switch" of={<FeatureSwitch feature={feature} />} />
      <Cell class="cell-state" of={<FeatureState feature={feature} />} />
      <Cell
        class="cell-lifecycle"
        of={<span class={`pill pill-${feature.lifecycle}`}>{LIFECYCLE[feature.lifecycle]}</span>}
      />
      <Cell class="cell-visibility" of={VISIBILITY[feature.visibility]} />
      <Cell class="cell-change" of={<LastChange feature={feature} />} />
      <td role="cell" class="cell-history">
        <a
          class="button button-quiet"
          data-opens
          href={hrefWith({ history: key })}
          aria-label={`History of ${key}`}
          onClick={follow}
        >
          <Icon of="history" />
          <span>History</span>
        </a>
      </td>
    </tr>
  );
}

function Needs({ keys }: { readonly keys: readonly string[] }) {
  if (keys.length === 0) return null;
  return (
    <p class="needs">
      Needs <RowLinks keys={keys} />
    </p>
  );
}

function LastChange({ feature: { lastChange } }: { readonly feature: PlatformFeature }) {
  if (lastChange === undefined) return <span class="muted">Never moved</span>;
  return (
    <>
      <p class="change-line">
        <Ago at={lastChange.at} /> <span class="muted">by</span>{' '}
        <span class="change-who">{actorName(lastChange.actor)}</span>
      </p>
      <p class="change-reason" title={lastChange.reason}>
        {lastChange.reason}
      </p>
    </>
  );
}
