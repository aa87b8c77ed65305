/** This file lists the areas. Each one lists its features, which say themselves on what they stand. */
import { access } from './access/area.ts';
import { apps } from './apps/area.ts';
import { connect } from './connect/area.ts';
import { delivery } from './delivery/area.ts';
import { engine } from './engine/area.ts';
import { money } from './money/area.ts';
import { operations } from './operations/area.ts';
import { workspace } from './workspace/area.ts';
import type { Area, Declared } from './kit/feature.ts';
import { switchesFeature } from './switches/index.ts';

export const AREAS: readonly Area[] = [
  { name: 'features', features: [switchesFeature] },
  access,
  apps,
  engine,
  connect,
  money,
  delivery,
  operations,
  workspace,
];

/** Every feature, each behind those on which it stands. */
export const FEATURES: readonly Declared[] = inOrder(AREAS.flatMap(({ features }) => features));

function inOrder(declared: readonly Declared[]): readonly Declared[] {
  const ordered = new Set<Declared>();
  const add = (feature: Declared): void => {
    if (ordered.has(feature)) return;
    Object.values(feature.on).forEach(add);
    ordered.add(feature);
  };
  declared.forEach(add);
  const names = [...ordered].map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  // Settings and what has started are known by it.
  if (twice !== undefined) throw new Error(`two features are called ${twice}`);
  return [...ordered];
}
