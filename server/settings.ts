/** Reads settings from text, each with its unit, default and bounds. Collects every problem, so that one start names all of them. */

export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

export interface NumberRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as not set, as compose files and unit files leave them. */
export class SettingsReader {
  readonly #env: Environment;
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  problem(text: string): void {
    this.#problems.push(text);
  }

  /** Throws a ConfigError when anything was wrong. */
  finish(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  optional(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === '' ? undefined : value;
  }

  text(name: string, fallback: string): string {
    return this.optional(name) ?? fallback;
  }

  number(name: string, { fallback, min, max }: NumberRule): number {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    this.problem(`${name} is "${text}", expected a whole number from ${min} to ${max}`);
    return fallback;
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.optional(name)?.toLowerCase();
    if (text === undefined) return fallback;
    if (text === 'true' || text === '1' || text === 'on' || text === 'yes') return true;
    if (text === 'false' || text === '0' || text === 'off' || text === 'no') return false;
    this.problem(`${name} is "${text}", expected true or false`);
    return fallback;
  }

  choice<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.optional(name);
    if (text === undefined) return fallback;
    const found = allowed.find((value) => value === text);
    if (found !== undefined) return found;
    this.problem(`${name} is "${text}", expected one of ${allowed.join(', ')}`);
    return fallback;
  }

  list(name: string): readonly string[] | undefined {
    return this.optional(name)
      ?.split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const text = this.optional(name);
    if (text === undefined || isUrl(text, protocols)) return text;
    // The value itself may hold a password: it is not repeated.
    this.problem(`${name} is not an address of the form ${protocols.map((p) => `${p}//host…`).join(' or ')}`);
    return undefined;
  }
}

export function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}
