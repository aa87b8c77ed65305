/** Switches and this process's environment, resolved: what one process makes of one state of all switches. */
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import type { Snapshot } from './snapshot.ts';
import { resolveFeatures } from './resolve.ts';
import type { StoredStates } from './store.ts';

/** Values of this process's environment, by the names of variables in the manifest. */
export type Variables = Readonly<Record<string, boolean>>;

export interface Rules {
  readonly manifest: readonly FeatureDefinition[];
  readonly variables: Variables;
}

export interface Effective {
  readonly stored: StoredStates;
  readonly snapshot: Snapshot;
  /** State that each switch of the manifest counts as having. */
  readonly states: ReadonlyMap<string, SwitchState>;
}

/** The variable holds the switch off in this process where this is true, whatever the database says. */
export function heldOff({ environment }: FeatureDefinition, variables: Variables): boolean {
  return environment?.decides === 'off' && variables[environment.variable] === false;
}

/** The variable that decides instead of the switch. */
export function decidingVariable(definition: FeatureDefinition, variables: Variables): string | undefined {
  const { environment } = definition;
  return environment?.decides === 'always' || heldOff(definition, variables)
    ? environment?.variable
    : undefined;
}

export function effectiveOf({ manifest, variables }: Rules, stored: StoredStates): Effective {
  const states = new Map(
    manifest.map((definition): [string, SwitchState] => [
      definition.key,
      heldOff(definition, variables)
        ? 'disabled'
        : (stored.switches.get(definition.key)?.state ?? definition.default),
    ]),
  );
  return { stored, states, snapshot: resolveFeatures(manifest, states) };
}

/** `planned` is not built yet: its switch may be moved off, never on. */
export function isToggleable(definition: FeatureDefinition, rules: Rules, state: SwitchState): boolean {
  if (decidingVariable(definition, rules.variables) !== undefined) return false;
  return definition.lifecycle !== 'planned' || state === 'enabled';
}
