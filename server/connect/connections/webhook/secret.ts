/**
 * Secrets of webhooks have the form that the provider takes, and are sealed with the row that they are for.
 */
import { randomBytes } from 'node:crypto';
import type { Secrets } from '../../../base/secrets.ts';
import type { ciWebhooks } from '../schema.ts';
import { STANDARD_PREFIX } from '../../providers/index.ts';
import type { CiProvider, Scheme } from '../../providers/index.ts';

/**
 * First the one that a webhook begins with. What only sends its secret along is not taken for what signs, and
 * the other way round.
 */
const SCHEMES: Readonly<Record<CiProvider, readonly [Scheme, ...Scheme[]]>> = {
  github: ['signature'],
  gitlab: ['signature', 'token'],
  bitbucket: ['signature'],
  jenkins: ['token'],
  circleci: ['signature'],
  buildkite: ['signature', 'token'],
  drone: ['signature'],
  azure: ['token'],
  generic: ['signature'],
};

export function schemesOf(provider: CiProvider): readonly [Scheme, ...Scheme[]] {
  return SCHEMES[provider];
}

/** Time for which the secret before a new one is taken too. */
export const OVERLAP_MS = 24 * 60 * 60_000;
const SECRET_BYTES = 32;

/** Standard Webhooks have a form of their own; everybody else takes any text that needs no escaping. */
export function newSecret(provider: CiProvider, scheme: Scheme): string {
  const random = randomBytes(SECRET_BYTES);
  const standard = scheme === 'signature' && (provider === 'gitlab' || provider === 'generic');
  return standard ? `${STANDARD_PREFIX}${random.toString('base64')}` : random.toString('base64url');
}

const place = (webhookId: string): string => `ci_webhooks.secret:${webhookId}`;

export function sealSecret(secrets: Pick<Secrets, 'seal'>, webhookId: string, secret: string): string {
  return secrets.seal(place(webhookId), Buffer.from(secret));
}

/** The secrets that are good now, the newest first; empty when there is none. */
export function openSecrets(
  secrets: Pick<Secrets, 'open'>,
  { id, secret, previousSecret, previousUntil }: typeof ciWebhooks.$inferSelect,
  now: Date,
): readonly string[] {
  const sealed = [secret, previousUntil !== null && previousUntil > now ? previousSecret : null];
  return sealed.flatMap((one) => (one === null ? [] : Buffer.from(secrets.open(place(id), one)).toString()));
}
