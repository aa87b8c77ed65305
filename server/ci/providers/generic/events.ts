/** Any system that can send JSON: JSON pointers (RFC 6901) say where the fields are, a map says what its words mean. Nothing is evaluated. */
import { CI_STATUSES } from '../../accept.ts';
import type { CiStatus } from '../../accept.ts';
import {
  attemptOf,
  idOf,
  isEnd,
  orderOfTime,
  refOf,
  shaOf,
  text,
  timeOf,
  unixTimeOf,
  urlOf,
  wordsOf,
} from '../read.ts';
import type { Meaning } from '../read.ts';
import type { Normalise } from '../types.ts';

const POINTERS = {
  id: '/id',
  attempt: '/attempt',
  status: '/status',
  name: '/name',
  sha: '/sha',
  branch: '/branch',
  tag: '/tag',
  url: '/url',
  queued_at: '/queued_at',
  started_at: '/started_at',
  finished_at: '/finished_at',
  updated_at: '/updated_at',
  repository: '/repository',
} as const;

/** Deep enough for any payload that people made, and no more. */
const DEPTH_MAX = 16;

export const normalise: Normalise = (_headers, payload, mapping = {}) => {
  const field = (name: keyof typeof POINTERS) => pointed(payload, mapping.pointers?.[name] ?? POINTERS[name]);
  const [id, word] = [idOf(field('id')), idOf(field('status'))];
  if (id === undefined || word === undefined) return { ignored: 'nothing where id and status should be' };
  const means = meaningOfWord(word, mapping.words);
  const time = (name: 'queued_at' | 'started_at' | 'finished_at') => {
    const value = field(name);
    return timeOf(value) ?? unixTimeOf(value, 'seconds');
  };
  return {
    kind: 'run',
    repository: { id: undefined, name: text(field('repository')) },
    run: { externalRunId: id, externalAttempt: attemptOf(field('attempt')) },
    aliases: [],
    event: {
      ...wordsOf(means, word),
      order: orderOfTime(field('updated_at')),
      facts: {
        name: text(field('name')),
        commitSha: shaOf(field('sha')),
        ...refOf(field('branch')),
        ...(text(field('tag')) === undefined ? {} : { tag: text(field('tag')) }),
        url: urlOf(field('url')),
        queuedAt: time('queued_at'),
        startedAt: time('started_at'),
        finishedAt: isEnd(means) ? time('finished_at') : undefined,
      },
    },
    jobs: [],
  };
};

function meaningOfWord(word: string, words: Readonly<Record<string, string>> = {}): Meaning {
  const ours = Object.hasOwn(words, word) ? words[word] : word;
  return { status: CI_STATUSES.find((status): status is CiStatus => status === ours) ?? 'unknown' };
}

export function pointed(document: unknown, pointer: string): unknown {
  if (pointer === '') return document;
  if (!pointer.startsWith('/')) return undefined;
  const steps = pointer.slice(1).split('/');
  if (steps.length > DEPTH_MAX) return undefined;
  let found = document;
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
