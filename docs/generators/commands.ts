/** Writes commands.md, which has every command of `svc` as the shell knows it, hand-written ones too. */
import type { Surface } from '../../proto/generators/surface.ts';
import type { AreaSpec } from '../../cli/command.ts';
import type { Spec } from '../../cli/shell/command.ts';
import { GLOBAL_FLAGS } from '../../cli/shell/globals.ts';
import { globalRow, isNeededBy, usageLine } from '../../cli/shell/help.ts';
import { code, page, table } from './markdown.ts';

export interface CommandLine {
  readonly areas: readonly AreaSpec[];
  readonly groups: readonly {
    readonly group: string;
    readonly area?: string;
    readonly summary: string;
    readonly specs: readonly Spec[];
  }[];
}

export function commandsPage({ areas, groups }: CommandLine, surface: Surface): string {
  const scopes = scopeByRoute(surface);
  const section = (title: string, about: string, area: string | undefined): string[] => [
    `## ${title}`,
    about,
    ...groups
      .filter((entry) => entry.area === area)
      .flatMap(({ group, summary, specs }) => [
        `### ${code(`svc ${group}`)}`,
        `${summary}.`,
        table(
          HEAD,
          specs.map((spec) => row(spec, scopes)),
        ),
      ]),
  ];
  return page('Commands', ABOUT, [
    ...areas.flatMap(({ area, title, summary }) => section(title, `${summary}.`, area)),
    ...section('This program', '', undefined),
    '## Flags of every command',
    table(
      ['flag', 'what it does'],
      GLOBAL_FLAGS.map(globalRow).map(([flag, about]) => [code(flag), about]),
    ),
  ]);
}

const ABOUT =
  'What a command needs stands in its usage; the other flags may be left out. `svc <command> --help` says more about each. A scope is what the credential must hold.';
const HEAD = ['command', 'flags that may be left out', 'scope', 'what it does'];

function row(spec: Spec, scopes: ReadonlyMap<string, string>): string[] {
  const { operation } = spec;
  const flags = [...spec.flags, ...spec.locals].filter((field) => !field.hidden && !isNeededBy(spec, field));
  const scope = operation && scopes.get(`${operation.method} ${operation.path}`);
  return [
    code(usageLine(spec).replace(/ \[flags\]/, '')),
    flags
      .map(({ rest, flag }) => (rest === true ? '' : code(`--${flag}`)))
      .filter(Boolean)
      .join(' '),
    code(scope ?? (spec.auth === 'staff' ? 'staff' : '')),
    `${spec.summary}.`,
  ];
}

function scopeByRoute({ rpcs }: Surface): ReadonlyMap<string, string> {
  return new Map(
    Object.values(rpcs).flatMap(({ routes, scope }) =>
      scope === undefined ? [] : routes.map(({ route }) => [route, scope] as const),
    ),
  );
}
