/**
 * This file has the settings of a process as a table: each one says how it is read and what a person needs to
 * know of it, so that the documents are printed from the very values that count. Reading collects every
 * problem: one start names all of them.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { addressList } from '../http/address.ts';

export interface Setting<T> {
  /** Environment variable. */
  readonly name: string;
  /** Whole sentences. */
  readonly about: string;
  /** The words for what is written, such as `number`, `true or false`, or `api, worker`. */
  readonly type: string;
  readonly unit?: string;
  /** As it would be written, or what happens without one. */
  readonly default: string;
  readonly bounds?: string;
  /** `undefined`: not set, or empty, as compose files and unit files leave it. */
  read(text: string | undefined): T | Wrong;
}

/** It says what is wrong with a value, in words that follow its name. */
export class Wrong {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

export function expected(text: string, what: string): Wrong {
  return new Wrong(`is "${text}", expected ${what}`);
}

/** Settings by property, nested as deep as it reads well. */
export interface SettingsTable {
  readonly [property: string]: Setting<unknown> | SettingsTable;
}

export type SettingsOf<T> = {
  readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : SettingsOf<T[K]>;
};

export type Environment = Readonly<Record<string, string | undefined>>;

export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Throws a ConfigError with everything that is wrong; `crossCheck` says what no single setting can see. */
export function readSettings<T extends SettingsTable>(
  table: T,
  env: Environment,
  crossCheck: (config: SettingsOf<T>, problem: (text: string) => void) => void,
): SettingsOf<T> {
  const problems: string[] = [];
  const readTable = (part: SettingsTable): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(part).map(([property, entry]) => [
        property,
        isSetting(entry) ? readOne(entry) : readTable(entry),
      ]),
    );
  const readOne = (setting: Setting<unknown>): unknown => {
    const value = setting.read(env[setting.name]?.trim() || undefined);
    if (!(value instanceof Wrong)) return value;
    problems.push(`${setting.name} ${value.why}`);
    // The other checks go on as if it were not set; where it must be, this is all there is to say.
    const fallback = setting.read(undefined);
    return fallback instanceof Wrong ? '' : fallback;
  };
  const config = readTable(table) as SettingsOf<T>;
  crossCheck(config, (text) => void problems.push(text));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

export function isSetting(entry: Setting<unknown> | SettingsTable): entry is Setting<unknown> {
  return typeof entry['read'] === 'function';
}

interface About {
  readonly about: string;
}

interface Text<T> extends About {
  readonly type: string;
  readonly parse: (text: string) => T | Wrong;
}

export function number(
  name: string,
  {
    fallback,
    min,
    max,
    ...said
  }: About & {
    readonly unit?: string;
    readonly fallback: number;
    readonly min: number;
    readonly max: number;
  },
): Setting<number> {
  return {
    name,
    ...said,
    type: 'number',
    default: String(fallback),
    bounds: `${min} to ${max}`,
    read: (text) => {
      if (text === undefined) return fallback;
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : expected(text, `a whole number from ${min} to ${max}`);
    },
  };
}

const ON = ['true', '1', 'on', 'yes'];
const OFF = ['false', '0', 'off', 'no'];

/** A number that counts, from 1 to ten million. */
export const limit = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, fallback, min: 1, max: 10_000_000 });

export function flag(
  name: string,
  { about, fallback }: About & { readonly fallback: boolean },
): Setting<boolean> {
  return {
    name,
    about,
    type: 'true or false',
    default: String(fallback),
    read: (text) => {
      const word = text?.toLowerCase() ?? String(fallback);
      if (ON.includes(word)) return true;
      return OFF.includes(word) ? false : expected(text ?? '', 'true or false');
    },
  };
}

export function choice<const T extends string>(
  name: string,
  { about, values, fallback }: About & { readonly values: readonly T[]; readonly fallback: NoInfer<T> },
): Setting<T> {
  return {
    name,
    about,
    type: values.join(', '),
    default: fallback,
    read: (text) =>
      values.find((value) => value === (text ?? fallback)) ??
      expected(text ?? '', `one of ${values.join(', ')}`),
  };
}

/** Makes a setting from a text with a default. `parse` gives what the program uses. */
export function text<T = string>(
  name: string,
  { fallback, parse, ...said }: Text<T> & { readonly fallback: string },
): Setting<T> {
  return { name, ...said, default: fallback, read: (given) => parse(given ?? fallback) };
}

/** A text that may be left out; `absent` says what happens then. */
export function optional<T = string>(
  name: string,
  { absent, parse, ...said }: Text<T> & { readonly absent: string },
): Setting<T | undefined> {
  return {
    name,
    ...said,
    default: absent,
    read: (given) => (given === undefined ? undefined : parse(given)),
  };
}

/** A text without which the process cannot run; `what` says what is to be given. */
export function required<T = string>(
  name: string,
  { what, parse, ...said }: Text<T> & { readonly what: string },
): Setting<T> {
  const read = (given: string | undefined) =>
    given === undefined ? new Wrong(`is not set, expected ${what}`) : parse(given);
  return { name, ...said, default: 'none: it must be set', read };
}

// The functions below are parsers for `text` and its like.

export const asIs = (given: string): string => given;

export function parts(given: string): readonly string[] {
  return given
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The value itself may hold a password: it is not repeated. */
export const address =
  (...protocols: readonly string[]) =>
  (given: string): string | Wrong =>
    isUrl(given, protocols)
      ? given
      : new Wrong(`is not an address of the form ${protocols.map((p) => `${p}//host…`).join(' or ')}`);

export const webAddresses = (given: string): readonly string[] | Wrong => {
  const wrong = parts(given).find((url) => !isUrl(url, ['http:', 'https:']));
  return wrong === undefined
    ? parts(given)
    : new Wrong(`holds "${wrong}", expected http:// or https:// addresses, separated by commas`);
};

/** Reads addresses and ranges of networks. */
export const ranges = (given: string): readonly string[] | Wrong => {
  const list = parts(given);
  try {
    addressList(list);
    return list;
  } catch (error) {
    if (error instanceof RangeError) return new Wrong(`holds ${error.message}`);
    throw error;
  }
};

/** A name or an address that a process can listen on. */
export const bindHost = (given: string): string | Wrong =>
  isIP(given) !== 0 || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(given)
    ? given
    : expected(given, 'an address or a name without a port, such as 127.0.0.1 or 0.0.0.0');

/** Reads a path such as `secret/transit`, without steps that lead out of it. */
export const mountPath = (given: string): string | Wrong =>
  given.split('/').every((part) => /^[\w-][\w.-]*$/.test(part))
    ? given
    : expected(
        given,
        'names of letters, digits, ".", "_" and "-", separated by single slashes, such as transit',
      );

/** Read once, at the start. */
export function readableFile(given: string): string | Wrong {
  const what = 'a file that can be read';
  try {
    if (!statSync(given).isFile()) return expected(given, `${what}: it is none`);
    accessSync(given, constants.R_OK);
    return given;
  } catch (error) {
    return expected(given, `${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A secret that two processes share. */
export const secret =
  (leastCharacters: number) =>
  (given: string): string | Wrong =>
    given.length >= leastCharacters
      ? given
      : new Wrong(`has ${given.length} characters, expected at least ${leastCharacters}`);

export function isUrl(given: string, protocols: readonly string[]): boolean {
  return URL.canParse(given) && protocols.includes(new URL(given).protocol);
}
