/** Makes sentences of an engine's failures: some print the insides of their own program. */
import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { lastLines, type ProcessOptions, type ProcessResult } from './process.ts';

/** Nothing else of the output is held back until its line is whole. */
const LINES_BEGIN = ['Error: ', 'time="'];
const DUMP = /\s*&?\b(?:imagebuilder|copier|buildah|define)\.[A-Za-z]\w*\{.*\}/g;
const HELD_BYTES_MAX = 65_536;
const LINKS_MAX = 40;
const NAMES_SHOWN = 12;

/** Removes printed structures of the engine. */
export function withoutDumps(line: string): string {
  return line.replace(DUMP, '');
}

/** Passes on the output without them. `end` passes on what is left. */
export function plainOutput(pass: NonNullable<ProcessOptions['onOutput']>): {
  onOutput: NonNullable<ProcessOptions['onOutput']>;
  end: () => Promise<void>;
} {
  let held = Buffer.alloc(0);
  const end = async () => {
    const text = held;
    held = Buffer.alloc(0);
    if (text.length > 0) await pass('stderr', Buffer.from(withoutDumps(text.toString())));
  };
  return {
    async onOutput(stream, chunk) {
      if (stream !== 'stderr') return await pass(stream, chunk);
      const data = Buffer.concat([held, chunk]);
      const last = data.lastIndexOf('\n') + 1;
      const line = data.toString('latin1', last);
      const mayBe = LINES_BEGIN.some((begin) => line.startsWith(begin) || begin.startsWith(line));
      const isHeld = mayBe && line.length < HELD_BYTES_MAX;
      const whole = isHeld ? data.subarray(0, last) : data;
      held = Buffer.from(data.subarray(whole.length));
      if (whole.length === 0) return;
      const text = whole.toString();
      const plain = withoutDumps(text);
      await pass(stream, plain === text ? whole : Buffer.from(plain));
    },
    end,
  };
}

/** @param context Real path of the folder that the Dockerfile copies from; `clone` is the repository's. */
export async function explainFailure(
  result: ProcessResult,
  { clone, context }: { clone: string; context: string },
): Promise<string> {
  const said = withoutDumps(lastLines(result, 3));
  const [, step = '', cause = ''] = /building at STEP "((?:[^"\\]|\\.)*)": (.*)$/s.exec(said) ?? [];
  const [, word] = /Unknown instruction: "(\w+)"/.exec(cause) ?? [];
  if (word !== undefined) return `${word} is no instruction of a Dockerfile`;
  const [, path] = /copier: (?:stat|get): (?:error resolving |lstat )?"\/([^"]*)"/.exec(cause) ?? [];
  if (path === undefined || path === '') return said;
  if (/\s--from=/i.test(step)) return `${step}: there is no /${path} in the stage or image that it names`;
  return `${step}: ${await lookFor(path, clone, context)}`;
}

/** Why an engine does not find a path in the folder that it copies from. */
async function lookFor(path: string, clone: string, context: string): Promise<string> {
  const name = relative(clone, context) || '.';
  const link = await linkOut(path, context);
  if (link !== undefined)
    return `${link.from} is a link to ${link.to}, which leads out of the context ${name}, and nothing can be copied from there; set the context to a folder that holds both`;
  const names = (await readdir(context)).filter((each) => each !== '.git').sort();
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `there is no ${path} in the context ${name}, or it is ignored there; it holds ${names.slice(0, NAMES_SHOWN).join(', ')}${more}`;
}

/** The first link on the way that leads out of the folder. */
async function linkOut(path: string, folder: string): Promise<{ from: string; to: string } | undefined> {
  let rest = path.split('/').filter((part) => part !== '' && part !== '.');
  let at = folder;
  for (let links = 0; rest.length > 0 && links < LINKS_MAX;) {
    const next = join(at, rest.shift() ?? '');
    const found = await lstat(next).catch(() => undefined);
    if (found === undefined) return undefined;
    at = next;
    if (!found.isSymbolicLink()) continue;
    links += 1;
    const to = await readlink(next);
    const target = resolve(dirname(next), to);
    if (target !== folder && !target.startsWith(`${folder}${sep}`))
      return { from: relative(folder, next) || basename(next), to };
    rest = [...relative(folder, target).split(sep), ...rest].filter((part) => part !== '');
    at = folder;
  }
  return undefined;
}
