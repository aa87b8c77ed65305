/** Makes the reference pages by file name: this is the one place that knows where everything is declared. */
import { readFileSync } from 'node:fs';
import { areas } from '../../cli/gen/index.ts';
import { commandTree, leavesOf } from '../../cli/shell/tree.ts';
import { SETTINGS as GATEWAY } from '../../gateway/config.ts';
import type { Surface } from '../../proto/generators/surface.ts';
import { RUN_FLAGS } from '../../runner/commands/settings.ts';
import { SETTINGS as SERVER } from '../../server/config.ts';
import { FEATURES } from '../../server/areas.ts';
import { ROLES, scopesOf } from '../../server/kit/scopes.ts';
import type { EventKinds } from '../../server/kit/events/kinds.ts';
import { areasPage } from './areas.ts';
import { commandsPage, type CommandLine } from './commands.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { policiesPage } from './policies.ts';
import { scopesPage } from './scopes.ts';
import { settingsPage } from './settings.ts';

export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const surface = readSurface();
  const granted = ROLES.map((role) => ({ role, scopes: scopesOf(role) }));
  return new Map([
    ['areas.md', areasPage(surface)],
    ['commands.md', commandsPage(await commandLine(), surface)],
    ['errors.md', errorsPage()],
    ['events.md', eventsPage(declaredEvents())],
    ['policies.md', policiesPage()],
    ['scopes.md', scopesPage(surface, granted)],
    [
      'settings.md',
      settingsPage({
        server: { ...SERVER.process, ...SERVER.features },
        gateway: GATEWAY,
        runner: RUN_FLAGS,
      }),
    ],
  ]);
}

/** The events of all features are sorted by their names. */
export function declaredEvents(): EventKinds {
  const all = FEATURES.flatMap(({ events }) => Object.entries(events));
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export function readSurface(): Surface {
  const url = new URL('../../proto/gen/surface.json', import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as Surface; // Written by proto/generators.
}

async function commandLine(): Promise<CommandLine> {
  const groups = await Promise.all(
    Object.entries(commandTree().subCommands).map(async ([group, node]) => ({
      group,
      ...(node.area === undefined ? {} : { area: node.area }),
      summary: node.meta.description,
      specs: await Promise.all(leavesOf(node).map(async ({ load }) => (await load()).spec)),
    })),
  );
  return { areas, groups };
}
