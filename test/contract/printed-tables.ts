/** Command tables that the generator prints from fixtures, as the command line loads them. */
import type { GroupSpec, PrintedGroup } from '../../cli/command.ts';
import { groupsOf } from '../../cli/tables.ts';
import type { Model } from '../../proto/generators/model.ts';
import { printCli } from '../../proto/generators/print-cli.ts';

type Table = Awaited<ReturnType<PrintedGroup['load']>>;

/** The groups whose names are given. */
export async function printedGroups(model: Model, names: readonly string[]): Promise<readonly GroupSpec[]> {
  const printed = printCli(model);
  const textOf = (file: string): string => printed.get(`cli/gen/${file}.ts`) ?? '';
  const index = await evaluated<Record<string, PrintedGroup>>(textOf('index'), 'groupsOf(', ');');
  const entries = names.map((name): [string, PrintedGroup] => {
    const group = index[name];
    if (group === undefined) throw new Error(`the index has no group "${name}"`);
    const load = async (): Promise<Table> => ({ commands: await evaluated(textOf(name), '> = ', ';') });
    return [name, { ...group, load }];
  });
  return groupsOf(Object.fromEntries(entries));
}

/** Returns the literal between the last places of two texts. */
async function evaluated<T>(text: string, before: string, behind: string): Promise<T> {
  const literal = text.slice(text.lastIndexOf(before) + before.length, text.lastIndexOf(behind));
  const source = encodeURIComponent(`export default ${literal}`);
  const module = (await import(`data:text/javascript,${source}`)) as { readonly default: T };
  return module.default;
}
