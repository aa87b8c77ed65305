import type { ForgeApi } from './forges/call.ts';
import type { RunName } from './event.ts';
import type { Ignored, RunReport } from './types.ts';

/**
 * Asks a provider for the status of a run. Everything but an answer is thrown as a ForgeError. The id is one
 * that ASKABLE_ID takes.
 */
export type AskRun = (api: ForgeApi, run: RunName) => Promise<RunReport | Ignored>;
