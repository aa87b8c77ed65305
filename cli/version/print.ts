/** `svc version` */
import type { Own } from '../shell/command.ts';
import { CLI_VERSION } from '../version.ts';
import { isJson } from '../shell/output.ts';

export const command: Own = {
  description:
    'Prints the version of this program. With --json also those of Node.js and of the operating system.',
  answer: { version: '', node: '', platform: '' },
  run: async ({ output }) => {
    if (isJson(output))
      await output.value({
        version: CLI_VERSION,
        node: process.versions.node,
        platform: `${process.platform}-${process.arch}`,
      });
    else await output.raw(`svc ${CLI_VERSION}\n`);
  },
};
