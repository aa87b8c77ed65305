/**
 * Refusals of id_tokens. Texts and details name claims, so that a job's author sees what is wrong; never the
 * token, whole or in part.
 */
import { apiError } from '@svc/proto/http/errors.ts';

/** Claims that are no secret and show a job's author what is in the token. */
const SHOWN = [
  'iss',
  'aud',
  'repository',
  'repository_id',
  'repository_owner_id',
  'run_id',
  'run_attempt',
  'event_name',
  'workflow_ref',
  'project_path',
  'project_id',
  'job_project_id',
  'pipeline_id',
  'pipeline_source',
  'ci_config_ref_uri',
  'ref',
  'ref_type',
  'ref_path',
  'head_ref',
  'sha',
  'environment',
] as const;

export type Claims = Readonly<Record<string, unknown>>;

/** Cuts a value to 200 printable characters, because values of the caller come back in logs and terminals. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const clean = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return clean.length <= 200 ? clean : `${clean.slice(0, 199)}…`;
}

function seen(claims: Claims): Readonly<Record<string, string>> {
  return Object.fromEntries(
    SHOWN.flatMap((name) =>
      claims[name] === undefined || claims[name] === null ? [] : [[name, printable(claims[name])] as const],
    ),
  );
}

interface About {
  /** The claim that decides. */
  readonly claim?: string;
  /** The claims of the token, as far as they could be read. */
  readonly claims?: Claims;
}

function messageOf(what: string, { claim, claims = {} }: About) {
  const shown = seen(claims);
  const list = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
  const text = list.length === 0 ? what : `${what}; the id_token says ${list.join(', ')}`;
  return { text, details: { ...(claim === undefined ? {} : { claim }), claims: shown } };
}

/** Returns the error of status 401 for what is no good id_token. */
export function invalid(what: string, about: About = {}): Error {
  const { text, details } = messageOf(`the id_token is not valid: ${what}`, about);
  const headers = { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' };
  return apiError('id_token_invalid', text, { details, headers });
}

/** Returns the error of status 403 for an id_token that is good, and not for this. */
export function refused(what: string, about: About): Error {
  const { text, details } = messageOf(`the id_token does not allow this: ${what}`, about);
  return apiError('id_token_refused', text, { details });
}

export function used(): Error {
  return apiError(
    'id_token_used',
    'the id_token was taken before, and each is good once; ask the CI system for a new one, or exchange it once and report with what that gives',
    { headers: { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' } },
  );
}
