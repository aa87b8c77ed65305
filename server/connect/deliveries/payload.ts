/** The payload of a body, and the headers that are kept to read it again. */
import { JSON_DEPTH_MAX, measureJson } from '@svc/proto/http/json-text.ts';
import { at, header, text, type CiProvider, type Headers } from '../providers/index.ts';

/**
 * The headers in which a provider names its event. Those that carry secrets and signatures are never kept.
 */
const EVENT_HEADERS: Readonly<Record<CiProvider, string | undefined>> = {
  github: 'x-github-event',
  gitlab: 'x-gitlab-event',
  bitbucket: 'x-event-key',
  circleci: 'circleci-event-type',
  buildkite: 'x-buildkite-event',
  drone: 'x-drone-event',
  azure: undefined,
  jenkins: undefined,
  generic: undefined,
};

/** The fields in which the others name it. */
const EVENT_FIELDS: Readonly<Partial<Record<CiProvider, readonly string[]>>> = {
  circleci: ['type'],
  azure: ['eventType'],
  jenkins: ['build', 'phase'],
};

const EVENT_MAX = 100;
const LARGE_CHARS = 262_144;
const ELEMENTS_MAX = 250_000;

export function keptHeaders(provider: CiProvider, headers: Headers): Readonly<Record<string, string>> {
  const name = EVENT_HEADERS[provider];
  const value = name === undefined ? undefined : text(header(headers, name))?.slice(0, 255);
  return name === undefined || value === undefined ? {} : { [name]: value };
}

export function eventName(provider: CiProvider, headers: Headers, payload?: unknown): string | undefined {
  const name = EVENT_HEADERS[provider];
  const named = name === undefined ? undefined : text(header(headers, name));
  const field = EVENT_FIELDS[provider];
  return (named ?? (field === undefined ? undefined : text(at(payload, ...field))))?.slice(0, EVENT_MAX);
}

export type Payload = { readonly payload: unknown } | { readonly problem: string };

/**
 * GitHub can be set to send forms, with the JSON in one field. The signed bytes decide which it is; the
 * header is not signed.
 */
export function payloadOf(provider: CiProvider, body: Uint8Array): Payload {
  if (body.length === 0) return { problem: 'the body is empty' };
  const utf8 = Buffer.from(body.buffer, body.byteOffset, body.length).toString();
  const isForm = provider === 'github' && utf8.startsWith('payload=');
  const json = isForm ? (new URLSearchParams(utf8).get('payload') ?? '') : utf8.replace(/^\uFEFF/, '');
  try {
    // A real payload of this size has a tenth of the values; to parse a million brackets holds others up.
    if (json.length > LARGE_CHARS) measureJson(Buffer.from(json), { elementsMax: ELEMENTS_MAX });
  } catch {
    return {
      problem: `the body holds more than ${ELEMENTS_MAX} values, or is nested more than ${JSON_DEPTH_MAX} deep`,
    };
  }
  try {
    return { payload: JSON.parse(json) as unknown };
  } catch {
    return { problem: `the ${isForm ? 'field payload' : 'body'} is no JSON` };
  }
}
