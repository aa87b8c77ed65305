/**
 * Decides whether a build may take layers of its team's earlier builds. podman compares the text of a step,
 * the values of the variables that its stage declares, and the content that COPY and ADD bring. It compares
 * neither secrets and files that a step mounts, nor the lines of a here-document, nor, outside of RUN, the
 * values of variables: with one of these in the Dockerfile, an image could hold what an earlier secret, file
 * or value has made. Such a Dockerfile is built from the beginning.
 */
import { instructionsOf } from './references.ts';

/** Nothing but the step itself writes there: what these mounts hold counts for no layer. */
const HARMLESS_MOUNT =
  /--mount=type=(?:cache|tmpfs)(?:,(?:id|target|dst|destination|sharing|mode|uid|gid|size|tmpfs-size)=[\w./-]+)*(?=\s)/g;
/**
 * podman compares the values of variables in RUN; FROM names another layer to begin with; the last two are no
 * part of a layer.
 */
const FOLLOWS_VARIABLES = new Set(['RUN', 'FROM', 'CMD', 'ENTRYPOINT']);

export function mayReuseLayers(text: string): boolean {
  const instructions = instructionsOf(text);
  const variables = new Set(
    instructions
      .filter(({ word }) => word === 'ARG')
      .flatMap(({ rest }) => rest.match(/[A-Za-z_]\w*/g) ?? []),
  );
  return instructions.every(({ word, rest }) => {
    // Engines take quotes out of flags.
    const isPlain = !/--mount|<</i.test(`${word} ${rest}`.replace(HARMLESS_MOUNT, '').replace(/["']/g, ''));
    const isFollowed = FOLLOWS_VARIABLES.has(word) || !namesOneOf(variables, rest);
    return isPlain && isFollowed;
  });
}

/** Says whether the stage that is built begins with an image, and not with another stage. */
export function beginsWithImage(text: string, target: string | undefined): boolean {
  const stages = instructionsOf(text)
    .filter(({ word }) => word === 'FROM')
    .map(({ rest }) => /^(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?$/i.exec(rest.trim()));
  const built = target === undefined ? stages.at(-1) : stages.find((stage) => stage?.[2] === target);
  const names = stages.flatMap((stage) => stage?.[2]?.toLowerCase() ?? []);
  return built?.[1] !== undefined && !names.includes(built[1].toLowerCase()) && !built[1].includes('$');
}

function namesOneOf(variables: ReadonlySet<string>, rest: string): boolean {
  return [...rest.matchAll(/\$\{?([A-Za-z_]\w*)/g)].some(([, name = '']) => variables.has(name));
}
