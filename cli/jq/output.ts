/** Prints what the expression of `--jq` makes of the JSON that a command would print. */
import { CliError } from '../shell/errors.ts';
import { formatBytes } from '../shell/cells.ts';
import { FieldPicker } from '../shell/fields.ts';
import type { Io } from '../shell/io.ts';
import { escapeJson, type Output } from '../shell/output.ts';
import { neutraliseLine, neutraliseLog } from '../shell/text.ts';
import type { JqFilter, Result } from './filter.ts';

/** A list is one value, which is kept until its last page has come. */
const LIST_BYTES_MAX = 16 * 1024 * 1024;

export interface Filtering {
  readonly filter: JqFilter;
  /** Fields of `--json=a,b`, which the expression gets alone. */
  readonly fields?: readonly string[] | undefined;
}

/** Makes it of the output without an expression. */
export function filteredOutput(io: Io, plain: Output, { filter, fields }: Filtering): Output {
  const picker = fields === undefined ? undefined : new FieldPicker(fields);
  const jsonOf = (value: unknown): string =>
    JSON.stringify(picker === undefined ? value : picker.pick(value));
  const shown = (result: Result): string => {
    if ('json' in result) return `${escapeJson(result.json)}\n`;
    return `${io.stdout.isTerminal ? neutraliseLog(result.text) : result.text}\n`;
  };
  const print = async (json: string): Promise<void> => {
    const { results, notes, problem } = await filter.apply(json);
    if (results.length > 0) await io.stdout.write(results.map(shown).join(''));
    for (const note of notes) await plain.note(neutraliseLine(note));
    if (problem !== undefined) throw problem;
  };
  return {
    ...plain,
    value: async (value) => (value === undefined ? undefined : await print(jsonOf(value))),
    item: async (value) => await print(jsonOf(value)),
    rows: async (pages) => {
      const list = plain.format === 'json' ? new List() : undefined;
      let count = 0;
      for await (const page of pages) {
        count += page.length;
        const items = page.map(jsonOf);
        if (list !== undefined) list.add(items);
        else if (items.length > 0) await print(items.join('\n'));
      }
      if (list !== undefined) await print(list.json());
      return count;
    },
    raw: () => Promise.reject(new CliError('no_json', '--jq: the answer is no JSON')),
  };
}

class List {
  readonly #items: string[] = [];
  #bytes = 0;

  add(items: readonly string[]): void {
    for (const item of items) this.#bytes += item.length;
    if (this.#bytes > LIST_BYTES_MAX)
      throw new CliError('jq_memory', `--jq: the list has more than ${formatBytes(LIST_BYTES_MAX)} as JSON`, {
        hints: ['with -o jsonl the expression is applied to each item as it comes'],
      });
    this.#items.push(...items);
  }

  json(): string {
    return `[${this.#items.join(',')}]`;
  }
}
