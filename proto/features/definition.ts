/** Types say how a platform feature is declared. */

/**
 * Maturity, from least to most stable; `deprecated` counts as less stable than any. Says nothing about
 * whether a feature is on.
 */
export type Lifecycle = 'planned' | 'experimental' | 'preview' | 'ga' | 'deprecated';

export type Visibility = 'public' | 'internal';

export type SwitchState = 'enabled' | 'disabled';

export interface FeatureDefinition {
  /** Lower-case words joined by dots, at least two: `host.ci`. */
  readonly key: string;
  /** One sentence. */
  readonly description: string;
  /** Team that answers for it. */
  readonly owner: string;
  /** Version of the product that brought it. */
  readonly since: string;
  readonly lifecycle: Lifecycle;
  readonly visibility: Visibility;
  /** Position of the switch as long as nobody has moved it. */
  readonly default: SwitchState;
  /** Keys of features without which it cannot be used. Default: none. */
  readonly dependsOn?: readonly string[];
  /**
   * A variable of the processes' environment that decides instead of the switch. `always`: the switch is
   * where the worker's variable says, and cannot be moved. `off`: a value of `false` holds the switch off;
   * any other leaves it alone.
   */
  readonly environment?: { readonly variable: string; readonly decides: 'always' | 'off' };
}
