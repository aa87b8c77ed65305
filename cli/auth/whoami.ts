/** `svc whoami` is short for `svc account whoami`. */
import type { Own } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';

export const whoami = (): Own => ({ run: runOperation });
