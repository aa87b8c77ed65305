/**
 * This file knows what an engine reads in Dockerfiles only from some version on. An older one takes it for
 * something else, and fails with a text that does not say so.
 */
import type { Engine } from '../executor/engine.ts';
import { engineVersion, isBelow, type Version } from './engine-floor.ts';
import { BuildFailed } from './failure.ts';
import { instructionsOf, type Instruction } from './references.ts';

interface Feature {
  name: string;
  /** An engine is absent where every version that builds can be run with reads it. */
  since: Partial<Record<Engine['name'], Version>>;
  isIn(instruction: Instruction, lines: ReadonlySet<string>): boolean;
}

const FEATURES: readonly Feature[] = [
  {
    name: 'here-documents (<<EOF)',
    // buildah 1.33; BuildKit's Dockerfile 1.4.
    since: { podman: [4, 9, 0], docker: [23, 0, 0] },
    // Without its end on a line of its own it is a word of the shell, as of old.
    isIn: ({ word, rest }, lines) =>
      ['RUN', 'COPY', 'ADD'].includes(word) &&
      [...rest.matchAll(/(?<!<)<<-?(["']?)([A-Za-z_]\w*)\1/g)].some(([, , end = '']) => lines.has(end)),
  },
  {
    name: 'variables of the platform in the image of FROM, such as ${TARGETARCH}',
    // buildah 1.29 with its own imagebuilder; distributions that package that apart were later.
    since: { podman: [4, 4, 0] },
    isIn: ({ word, rest }) =>
      word === 'FROM' &&
      /\$\{?(?:TARGET|BUILD)(?:PLATFORM|OS|OSVERSION|ARCH|VARIANT)\b/.test(
        rest.replace(/^(?:--\S+\s+)+/, ''),
      ),
  },
  {
    name: 'COPY --link and ADD --link',
    // buildah 1.41; BuildKit's Dockerfile 1.4.
    since: { podman: [5, 6, 0], docker: [23, 0, 0] },
    isIn: ({ word, rest }) => ['COPY', 'ADD'].includes(word) && /^(?:--\S+\s+)*--link(?:=\S+)?\s/.test(rest),
  },
];

/** Throws BuildFailed with the line, what is in it, and the version that reads it. */
export async function checkSyntax(engine: Pick<Engine, 'name' | 'program'>, text: string): Promise<void> {
  // A frontend of its own then reads the file instead of the engine.
  if (engine.name === 'docker' && /^#\s*syntax\s*=/i.test(text)) return;
  const used = featuresIn(text).filter(({ since }) => since[engine.name] !== undefined);
  if (used.length === 0) return;
  const { version } = await engineVersion(engine);
  const problem = problemOfSyntax(engine.name, version, used);
  if (problem !== undefined) throw new BuildFailed(problem);
}

interface Used extends Pick<Feature, 'name' | 'since'> {
  line: number;
}

/** The first use of each. */
export function featuresIn(text: string): Used[] {
  const lines = new Set(text.split('\n').map((line) => line.replace(/^\t+|\r$/g, '')));
  const instructions = instructionsOf(text);
  return FEATURES.flatMap(({ name, since, isIn }) => {
    const first = instructions.find((instruction) => isIn(instruction, lines));
    return first === undefined ? [] : [{ name, since, line: first.line }];
  });
}

export function problemOfSyntax(
  engine: Engine['name'],
  version: string,
  used: readonly Used[],
): string | undefined {
  for (const { name, since, line } of used) {
    const floor = since[engine];
    if (floor === undefined || !isBelow(version, floor)) continue;
    return `line ${line} of the Dockerfile has ${name}: ${engine} reads that from ${short(floor)} on, and this runner has ${engine} ${version}; upgrade ${engine} on the runner, or write the line without it`;
  }
  return undefined;
}

/**
 * Lists by name what Dockerfiles must do without on this version, each with the least version that reads it.
 */
export function unreadSyntax(engine: Engine['name'], version: string): string[] {
  return FEATURES.flatMap(({ name, since: { [engine]: floor } }) =>
    floor !== undefined && isBelow(version, floor) ? [`${name} (from ${engine} ${short(floor)})`] : [],
  );
}

function short([major, minor]: Version): string {
  return `${major}.${minor}`;
}
