/**
 * Writes settings.md, which has every setting of server, gateway and runner, from the tables that they are
 * read by.
 */
import { isSetting, type Setting, type SettingsTable } from '../../proto/process/settings.ts';
import type { FlagSpec } from '../../runner/commands/flags.ts';
import { code, page, table } from './markdown.ts';

export interface Programs {
  readonly server: SettingsTable;
  readonly gateway: SettingsTable;
  readonly runner: readonly FlagSpec[];
}

export function settingsPage({ server, gateway, runner }: Programs): string {
  return page('Settings', ABOUT, [
    '## Server',
    ...tables(server),
    '## Gateway',
    'For a gateway that is a process of its own; in one process with the server the settings of the server count.',
    ...tables(gateway),
    '## Runner',
    'A flag of `svc-runner run` wins over its variable, that over the same setting in `config.json` of the data folder.',
    table(['flag', 'variable', 'what it does', 'default', 'bounds'], runner.map(flagRow)),
  ]);
}

const ABOUT =
  'Servers and gateways read environment variables, once, at their start, and refuse to start with one line for each value that is wrong. An empty variable counts as not set.';
const HEAD = ['variable', 'what it is', 'type', 'unit', 'default', 'bounds'];

/** The settings of the table itself, then one table for each group in it that has any. */
function tables(part: SettingsTable): string[] {
  const groups = Object.entries(part).flatMap(([title, entry]) =>
    isSetting(entry) || Object.keys(entry).length === 0 ? [] : [{ title, entry }],
  );
  return [
    table(HEAD, settingsIn(part).map(row)),
    ...groups.flatMap(({ title, entry }) => [
      `### ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
      ...tables(entry),
    ]),
  ];
}

function settingsIn(part: SettingsTable): Setting<unknown>[] {
  return Object.values(part).filter(isSetting);
}

function row({ name, about, type, unit, default: fallback, bounds }: Setting<unknown>): string[] {
  const shown = unit === 'ms' ? withTime(fallback) : fallback;
  return [code(name), about, type, unit ?? '', shown, bounds ?? ''];
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** Nobody reads days in milliseconds. */
function withTime(text: string): string {
  const found = UNITS.find(([, ms]) => Number(text) % ms === 0);
  return found === undefined ? text : `${text} (${Number(text) / found[1]} ${found[0]})`;
}

function flagRow({ name, value, env, help, fallback, bounds }: FlagSpec): string[] {
  const flag = `--${name}${value === undefined ? '' : ` <${value}>`}`;
  return [code(flag), code(env ?? ''), help, fallback ?? '', bounds?.join(' to ') ?? ''];
}
