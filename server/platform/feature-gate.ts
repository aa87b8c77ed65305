/** What the pipeline asks about a platform feature before anything else. The resolver of platform features implements it. */
export interface FeatureGate {
  /** `disabled`: public feature that is off (403); `hidden`: internal feature that is off (404 of an unknown route). */
  state(key: string): 'open' | 'disabled' | 'hidden';
}

/** Without the resolver: runners follow RUNNERS_ENABLED, everything else is open. */
export function staticFeatureGate(settings: { readonly runnersEnabled: boolean }): FeatureGate {
  return { state: (key) => (key === 'host.runners' && !settings.runnersEnabled ? 'hidden' : 'open') };
}
