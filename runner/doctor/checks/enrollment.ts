/** Checks that config and key exist and are readable. */
import { errorText } from '../../platform/errors.ts';
import { readConfig, readKey, type RunnerConfig } from '../../disk/identity.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok } from '../check.ts';

export const enrollment: CheckGroup = async (context, check) =>
  await check('enrollment', () => look(context));

function look({ paths }: CheckContext): Finding {
  const advice = `enroll this machine: svc-runner enroll --url <base url> --data-dir ${paths.dataDir}`;
  let config: RunnerConfig | undefined;
  try {
    config = readConfig(paths);
    if (config === undefined) return fail('not enrolled', advice);
    const { keyid } = readKey(paths.key);
    return ok(`${config.runnerId} (${config.name}) at ${config.baseUrl}, key ${keyid.slice(0, 8)}…`);
  } catch (error) {
    return fail(errorText(error), config === undefined ? advice : `${advice} --replace`);
  }
}
