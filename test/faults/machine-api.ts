/**
 * The machine protocol as a simulator speaks it: JSON, each attempt signed afresh. A call without an answer
 * is told apart from a refused one, because the first may have had its effect.
 */
import { createNonce, type SigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest, targetOfUrl } from '@svc/proto/signature/sign.ts';
import { createHttpClient, type HttpAnswer, type HttpCall, type HttpClient } from './http-client.ts';
import { stamp } from './journal.ts';

/** No answer came, or one that says nothing about the effect (5xx, 429). */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

/**
 * `replayed`: so are fresh signatures refused whose nonces a crash of the database may have taken away; the
 * next one is good.
 */
const RETRYABLE_CODES = ['idempotency_in_progress', 'rate_limited', 'unavailable', 'replayed'];

/**
 * Creates a client that signs. `wrongByMs` is how wrong this machine's clock is now. Signatures follow it
 * until an answer tells the right time.
 */
export function createMachineApi(
  baseUrl: string,
  runnerId: string,
  { key, wrongByMs = () => 0 }: { readonly key: SigningKey; readonly wrongByMs?: () => number },
) {
  const client = createHttpClient();
  let correctionMs = 0;
  return {
    /** It resolves with 2xx and definite refusals, and rejects with Unanswered otherwise. */
    call: async (action: string, body: object, timeoutMs: number) => {
      const url = new URL(`/runners/${runnerId}/${action}`, baseUrl);
      const text = JSON.stringify(body);
      const contentType = 'application/json';
      const { mono: sentMono, wall: sentWall } = stamp();
      const once = async (): Promise<HttpAnswer> => {
        const created = Math.floor((Date.now() + wrongByMs() + correctionMs) / 1_000);
        const signed = signRequest(
          { method: 'POST', ...targetOfUrl(url), contentType, body: Buffer.from(text) },
          { key, created, nonce: createNonce() },
        );
        return await sendOnce(client, url, {
          headers: { 'content-type': contentType, ...signed },
          body: text,
          timeoutMs,
        });
      };
      let answer = await once();
      if (answer.code === 'clock_skew') {
        const serverTime = serverTimeOf(answer);
        if (Number.isNaN(serverTime)) throw new Error('clock_skew without the time of the server');
        correctionMs = serverTime - Date.now() - wrongByMs();
        answer = await once();
      }
      // Refused by another gateway with another clock: nothing has happened.
      if (answer.code === 'clock_skew') throw new Unanswered(`${url.pathname}: clocks disagree`);
      return { ...answer, sentMono, sentWall };
    },
    close: () => client.close(),
  };
}

function serverTimeOf({ body }: HttpAnswer): number {
  const { details } = body['error'] as { details?: { serverTime?: string } };
  return Date.parse(details?.serverTime ?? '');
}

async function sendOnce(
  client: HttpClient,
  url: URL,
  sent: Pick<HttpCall, 'headers' | 'body' | 'timeoutMs'>,
): Promise<HttpAnswer> {
  let answer: HttpAnswer;
  try {
    answer = await client.call({ method: 'POST', url, ...sent });
  } catch (error) {
    throw new Unanswered(`${url.pathname}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const vague = answer.status >= 500 || answer.status === 429 || RETRYABLE_CODES.includes(answer.code ?? '');
  if (vague) throw new Unanswered(`${url.pathname} answered ${answer.status} ${answer.code ?? ''}`);
  return answer;
}

/** Enrolls, again and again until it is answered: the same token and key get the same runner. */
export async function enroll(
  baseUrl: string,
  token: string,
  { name, key }: { readonly name: string; readonly key: SigningKey },
): Promise<string> {
  const client = createHttpClient();
  const body = JSON.stringify({
    token,
    name,
    publicKey: key.publicKey,
    facts: { version: 'simulator', os: 'linux', arch: 'x64', isolation: 'container' },
  });
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await sendOnce(client, new URL('/runners/enroll', baseUrl), {
          headers: { 'content-type': 'application/json' },
          body,
          timeoutMs: 5_000,
        });
        const id = answer.body['runnerId'];
        if (typeof id === 'string') return id;
        throw new Error(`enrollment was refused: ${answer.status} ${JSON.stringify(answer.body)}`);
      } catch (error) {
        if (!(error instanceof Unanswered) || tries >= 40) throw error;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  } finally {
    client.close();
  }
}
