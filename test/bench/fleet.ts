/**
 * Sends 200 items a second for 50 runners of one team and measures the time from sending a submit to holding
 * its offer.
 */
import { createJsonClient, enrollBenchRunner, type BenchRunner, type JsonClient } from './client.ts';
import type { Platform } from '../e2e/platform.ts';

const RUNNERS = 50;
const PER_SECOND = 200;
const SECONDS = 20;
const WARM_UP_SECONDS = 6;

export interface Fleet {
  /**
   * Milliseconds of each item, once what came before is settled: engines compile, and what opened thousands
   * of polls leaves garbage behind.
   */
  dispatch(): Promise<number[]>;
  close(): void;
}

/** Runners call the gateway, submits go to the server. */
export async function enrollFleet(platform: Platform, gatewayUrl: string): Promise<Fleet> {
  const teamId = await platform.customerTeam('fleet');
  const machines = createJsonClient(gatewayUrl, 2 * RUNNERS);
  const developers = createJsonClient(platform.url, 32);
  const runners: BenchRunner[] = [];
  for (let index = 0; index < RUNNERS; index += 1) {
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    runners.push(await enrollBenchRunner(machines, gatewayUrl, { token, name: `fleet-${index}` }));
  }
  return {
    dispatch: async () => {
      await dispatch(platform, developers, { teamId, runners, items: PER_SECOND * WARM_UP_SECONDS });
      return await dispatch(platform, developers, { teamId, runners, items: PER_SECOND * SECONDS });
    },
    close: () => {
      machines.close();
      developers.close();
    },
  };
}

async function dispatch(
  platform: Platform,
  client: JsonClient,
  {
    teamId,
    runners,
    items,
  }: { readonly teamId: string; readonly runners: readonly BenchRunner[]; readonly items: number },
): Promise<number[]> {
  const sentMs = new Map<string, number>();
  const heldMs = new Map<string, number>();
  const work = async (runner: BenchRunner): Promise<void> => {
    while (heldMs.size < items) {
      const { status, body } = await runner.call('poll', { waitMs: 1_000 });
      if (status !== 200) throw new Error(`poll answered ${status}: ${JSON.stringify(body)}`);
      const offer = body['run'] as { id: string; epoch: number } | undefined;
      if (offer === undefined) continue;
      heldMs.set(offer.id, performance.now());
      await runner.call('report', {
        id: offer.id,
        epoch: offer.epoch,
        reportId: `fleet-${offer.id}`,
        reason: 'exit',
        exitCode: 0,
      });
    }
  };
  const submit = async (): Promise<void> => {
    const startedAt = performance.now();
    const headers = { authorization: `Bearer ${platform.bootstrap.apiKey}` };
    const { status, body } = await client.post(
      `/teams/${teamId}/sandbox-runs`,
      { command: ['true'] },
      headers,
    );
    if (status !== 201) throw new Error(`submit answered ${status}: ${JSON.stringify(body)}`);
    sentMs.set(String(body['id']), startedAt);
  };
  const working = runners.map(work);
  const submitting: Array<Promise<void>> = [];
  const beganAt = performance.now();
  while (submitting.length < items) {
    const due = Math.min(items, Math.ceil(((performance.now() - beganAt) / 1_000) * PER_SECOND));
    while (submitting.length < due) submitting.push(submit());
    // Until the next one is due: each waking of this process costs those that it measures.
    const untilMs = (submitting.length / PER_SECOND) * 1_000 - (performance.now() - beganAt);
    await new Promise((resolve) => setTimeout(resolve, untilMs));
  }
  await Promise.all([...submitting, ...working]);
  return [...heldMs].map(([id, at]) => at - (sentMs.get(id) ?? at));
}
