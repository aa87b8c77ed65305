/** Checks the programs that builds and deploys use besides the engine. */
import { PACK_VERSION } from '../../build/pinned.ts';
import { failureText, findProgram, runCommand } from '../../executor/command.ts';
import { type CheckGroup, type Finding, fail, ok, skip, warn } from '../check.ts';

const VERSION_MS = 10_000;
/** This version can fetch one commit and uses protocol version 2 by default. */
const GIT_MIN = { major: 2, minor: 26 };

export const tools: CheckGroup = async (_context, check) => {
  // They run together and report in order. None of them rejects.
  const [ofGit, ofPack, ofDokku] = [git(), pack(), dokku()];
  await check('git', async () => await ofGit);
  await check('pack', async () => await ofPack);
  await check('dokku', async () => await ofDokku);
};

async function git(): Promise<Finding> {
  const needed = `git ${GIT_MIN.major}.${GIT_MIN.minor} or newer`;
  const found = await versionOf('git', '--version');
  if (found === undefined)
    return warn('git is not installed, so builds that clone fail', `install ${needed}: apt-get install git`);
  if ('problem' in found) return fail(found.problem, `install ${needed}`);
  const [, major, minor] = /(\d+)\.(\d+)/.exec(found.line) ?? [];
  const old =
    Number(major) < GIT_MIN.major || (Number(major) === GIT_MIN.major && Number(minor) < GIT_MIN.minor);
  return old
    ? warn(found.line, `install ${needed}; older ones may not fetch single commits`)
    : ok(found.line);
}

async function pack(): Promise<Finding> {
  const advice = `for buildpack builds, put pack ${PACK_VERSION} on the PATH: https://github.com/buildpacks/pack/releases/tag/v${PACK_VERSION}`;
  const found = await versionOf('pack', 'version');
  if (found === undefined) return skip('not installed; builds of type buildpack fail here', advice);
  if ('problem' in found) return warn(found.problem, advice);
  const [version = ''] = found.line.split('+');
  return version === PACK_VERSION
    ? ok(`pack ${version}, the pinned version`)
    : warn(
        `pack ${version || 'of an unknown version'} is here, pinned is ${PACK_VERSION}; builds of type buildpack fail`,
        advice,
      );
}

async function dokku(): Promise<Finding> {
  const found = await versionOf('dokku', '--version');
  if (found === undefined)
    return skip(
      'not installed; deploys to dokku fail here',
      'needed only for deploy targets of kind dokku: https://dokku.com/docs/getting-started/installation/',
    );
  if ('problem' in found)
    return warn(found.problem, "may the daemon's user call dokku? See: sudo dokku version");
  return ok(found.line);
}

/** Returns undefined when it is not installed. */
async function versionOf(
  name: string,
  flag: string,
): Promise<{ line: string } | { problem: string } | undefined> {
  const program = findProgram(name);
  if (program === undefined) return undefined;
  const result = await runCommand([program, flag], { timeoutMs: VERSION_MS });
  if (result.code !== 0) return { problem: `${program} ${flag}: ${failureText(result)}` };
  return { line: (result.stdout.split('\n')[0] ?? '').trim().slice(0, 200) };
}
