/** Runs of external CI as CI jobs report them, with a key of the owner's. */
import { randomBytes } from 'node:crypto';
import { newKey } from '../setup/people.ts';
import type { Console } from './console.ts';
import type { Fleet } from './fleet.ts';

export interface Report {
  readonly ciConnectionId: string;
  readonly environmentId?: string;
  readonly externalRunId?: string;
  readonly externalAttempt?: number;
  readonly pipelineName?: string;
  readonly commitSha?: string;
  readonly branch?: string;
  readonly actor?: string;
  readonly status?: string;
  readonly trigger?: string;
  readonly externalUrl?: string;
  readonly startedAt?: string;
  readonly durationMs?: number;
}

/** Answers the run's id. */
export type Reporter = (report: Report) => Promise<string>;

export async function startReporting({ server }: Console, { owner }: Fleet): Promise<Reporter> {
  const { secret } = await newKey(server, owner.token, { scopes: ['ci:write'] });
  return async (more) => {
    const body = { externalRunId: randomBytes(6).toString('hex'), ...more };
    const answer = await server.call('POST /ci/runs', { as: secret, body });
    if (answer.status >= 300) throw new Error(`a report answered ${answer.status}: ${answer.text}`);
    return String(answer.body['id']);
  };
}
