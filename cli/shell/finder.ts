/**
 * Finds things by their names: one rule for every flag and argument that takes an id. An id is taken as it
 * is, without a request; a name must be the whole name; the beginning of an id, as tables show it, is enough
 * where it is the beginning of one alone.
 */
import type { Client, Operation } from '@svc/sdk';
import type { KindSpec } from '../command.ts';
import { kinds } from '../gen/kinds.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT } from './exit.ts';
import { isRecord, type Json } from './paths.ts';
import type { Place } from './place.ts';
import type { PlaceKind } from './place-kind.ts';
import { nearest } from './suggest.ts';

/** Most things of a kind that are looked through for a name. */
const LISTED_MAX = 1_000;
const PAGE = 200;
const SHOWN_MAX = 10;
/** Most that a search answers. */
const HITS_MAX = 50;

const SEARCH: Operation = { method: 'GET', path: '/teams/{teamId}/search', returns: 'hits' };
const GET_PROJECT: Operation = { method: 'GET', path: '/projects/{idOrSlug}' };
const GET_ENVIRONMENT: Operation = { method: 'GET', path: '/environments/{environmentId}' };

const KEYS: Readonly<Record<PlaceKind, string>> = {
  team: 'teams',
  project: 'projects',
  environment: 'environments',
};
const PLACE_OF: Readonly<Record<string, PlaceKind>> = {
  teamId: 'team',
  projectId: 'project',
  environmentId: 'environment',
};

/** Request fields that are known already. */
export type Scope = Readonly<Record<string, unknown>>;

/** A thing that goes by the text. */
export interface Match {
  readonly id: string;
  /** Names of it, for people who have to choose. */
  readonly about: string;
  readonly thing: Json;
}

/** An id in full has 26 characters behind its prefix; with some ten of them one thing stands out. */
const BEGINNING = /^[a-z]{2,5}_[0-9a-hjkmnp-tv-z]{10,25}$/;

/** Artifacts are known by it, too. */
const DIGEST = /^sha256:/;

/** It lives as long as one command, which sees one answer of each list. */
export class Finder {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #place: Place;
  readonly #lists = new Map<string, Promise<readonly Json[]>>();

  constructor(client: Client, { place, signal }: { readonly place: Place; readonly signal: AbortSignal }) {
    this.#client = client;
    this.#signal = signal;
    this.#place = place;
  }

  /** Returns the id of the one thing that goes by the text. */
  async idOf(key: string, text: string, scope: Scope = {}): Promise<string> {
    const kind = kindAt(key);
    if (isId(kind, text)) return text;
    // Without a name there is nothing to look for, and the server says what is wrong.
    if (kind.names.length === 0 && !BEGINNING.test(text)) return text;
    return theOne(kind.word, text, await this.#matches(key, text, scope)).id;
  }

  /** Returns all things that go by the text, also where there are none. */
  async called(key: 'teams' | 'projects', text: string): Promise<readonly Match[]> {
    const kind = kindAt(key);
    const things = await this.allAt(key, text);
    return things.filter((thing) => isCalled(kind, thing, text)).map((thing) => matchOf(kind, thing));
  }

  /** Returns all things of a kind, in the project or team that the text begins with, or in that in use. */
  async allAt(key: string, text: string): Promise<readonly Json[]> {
    const { inside } = await this.#inside(key, text, {});
    return await this.#all(kindAt(key), inside);
  }

  /** Finds what a team has, by a part of the name or by the beginning of the id. */
  async search(teamId: unknown, text: string): Promise<readonly Json[]> {
    return await this.#read(SEARCH, { teamId, text, limit: HITS_MAX });
  }

  /** Returns all things that go by the text. */
  async #matches(key: string, text: string, scope: Scope = {}): Promise<readonly Match[]> {
    const { inside, name } = await this.#inside(key, text, scope);
    const kind = kindAt(key);
    if (key === KEYS.environment && inside['projectId'] === undefined && this.#place.project === undefined)
      return this.#searched(kind, name, inside);
    const things = await this.#all(kind, inside, kind.names.length === 0 ? name : undefined);
    const found = things.filter((thing) => isCalled(kind, thing, name));
    if (found.length === 0) await this.#refuseEmpty(kind, text, things);
    return found.map((thing) => matchOf(kind, thing));
  }

  /** Returns the id of the place in use; undefined where nothing says it. */
  async inUse(kind: PlaceKind): Promise<string | undefined> {
    const part = this.#place[kind];
    if (part !== undefined) return await this.idOf(KEYS[kind], part.text);
    if (kind === 'environment') return undefined;
    const inner = kind === 'team' ? await this.#teamOfProject() : await this.#projectOfEnvironment();
    return inner ?? (kind === 'team' ? this.onlyTeam() : undefined);
  }

  /** Returns the team of a credential that reaches no other, but for that of the service's own runners. */
  async onlyTeam(): Promise<string | undefined> {
    const [team, ...others] = (await this.teams()).filter(({ thing }) => thing['servicePool'] !== true);
    return others.length === 0 ? team?.id : undefined;
  }

  async teams(): Promise<readonly Match[]> {
    const kind = kindAt(KEYS.team);
    return (await this.#all(kind, {})).map((thing) => matchOf(kind, thing));
  }

  async project(id: string): Promise<Json> {
    return await this.#client.call<Json>(GET_PROJECT, { idOrSlug: id }, { signal: this.#signal });
  }

  async environment(id: string): Promise<Json> {
    return await this.#client.call<Json>(GET_ENVIRONMENT, { environmentId: id }, { signal: this.#signal });
  }

  async #teamOfProject(): Promise<string | undefined> {
    const { project, environment } = this.#place;
    const isNamed = project !== undefined || standsAlone(environment?.text);
    const id = isNamed ? await this.inUse('project') : undefined;
    return id === undefined ? undefined : textOf((await this.project(id))['teamId']);
  }

  async #projectOfEnvironment(): Promise<string | undefined> {
    const { environment } = this.#place;
    if (environment === undefined || !standsAlone(environment.text)) return undefined;
    const id = await this.idOf(KEYS.environment, environment.text);
    return textOf((await this.environment(id))['projectId']);
  }

  /** Takes `web/production` apart: what stands in front of the last stroke is where the rest of it is. */
  async #inside(
    key: string,
    text: string,
    scope: Scope,
  ): Promise<{ readonly inside: Scope; readonly name: string }> {
    const outer = key === KEYS.environment ? 'project' : key === KEYS.project ? 'team' : undefined;
    const stroke = text.lastIndexOf('/');
    if (outer !== undefined && stroke > 0) {
      const id = await this.idOf(KEYS[outer], text.slice(0, stroke), scope);
      return { inside: { ...scope, [`${outer}Id`]: id }, name: text.slice(stroke + 1) };
    }
    const team = this.#place.team;
    if (key !== KEYS.project || scope['teamId'] !== undefined || team === undefined)
      return { inside: scope, name: text };
    return { inside: { ...scope, teamId: await this.idOf(KEYS.team, team.text) }, name: text };
  }

  /** An environment whose project nobody named is looked for in the whole team. */
  async #searched(kind: KindSpec, name: string, scope: Scope): Promise<readonly Match[]> {
    const hits = await this.search(scope['teamId'] ?? (await this.#named('team')), name);
    return hits
      .filter((hit) => hit['kind'] === kind.word && isCalled(kind, hit, name))
      .map((hit) => matchOf(kind, hit));
  }

  /** Throws where nothing says it. */
  async #named(kind: PlaceKind): Promise<string> {
    return (await this.inUse(kind)) ?? Promise.reject(await this.unknown(kind));
  }

  /** Says all ways to say it. */
  async unknown(kind: PlaceKind, flag = kind === 'environment' ? 'env' : kind): Promise<UsageError> {
    const teams = kind === 'team' ? (await this.teams()).map(({ about }) => about) : [];
    const more = teams.length > SHOWN_MAX ? `, and ${teams.length - SHOWN_MAX} more` : '';
    return new UsageError(`which ${kind}? None is named, and none is in use`, {
      hints: [
        `for this command: --${flag} with a name or an id`,
        `for this shell: SVC_${kind.toUpperCase()}`,
        `for this folder: "${kind}: <name>" in .svc.yaml, which "svc use --${flag} <name> --here" writes`,
        `for every command: "svc use --${flag} <name>"`,
        ...(teams.length === 0 ? [] : [`teams: ${teams.slice(0, SHOWN_MAX).join(', ')}${more}`]),
        ...(kind === 'team' && teams.length === 0 ? ['the credential reaches no team'] : []),
      ],
    });
  }

  async #all(kind: KindSpec, scope: Scope, beginning?: string): Promise<readonly Json[]> {
    const input: Record<string, unknown> = {};
    for (const [, variable = ''] of kind.list.path.matchAll(/\{(\w+)\}/g)) {
      const place = PLACE_OF[variable];
      input[variable] = scope[variable] ?? (place === undefined ? undefined : await this.#named(place));
    }
    if (kind === kindAt(KEYS.project) && scope['teamId'] !== undefined) input['teamId'] = scope['teamId'];
    // The search takes the beginning of an id, of things that are too many to look through.
    if (beginning !== undefined && input['teamId'] !== undefined)
      return await this.search(input['teamId'], beginning);
    const name = JSON.stringify([kind.list.path, input]);
    const known = this.#lists.get(name) ?? this.#listed(kind, input);
    this.#lists.set(name, known);
    return await known;
  }

  async #listed({ list, word }: KindSpec, input: Json): Promise<readonly Json[]> {
    if (list.items === undefined) return await this.#read(list, input);
    const things: Json[] = [];
    const pages = this.#client.list<Json>(list, { ...input, limit: PAGE }, { signal: this.#signal }).pages();
    for await (const page of pages) {
      things.push(...page.items);
      if (things.length > LISTED_MAX)
        throw new UsageError(`there are more than ${LISTED_MAX} ${word}s to look through: give the id`);
    }
    return things;
  }

  async #read(operation: Operation, input: Json): Promise<readonly Json[]> {
    const answer = await this.#client.call<unknown>(operation, input, { signal: this.#signal });
    const { returns = '' } = operation;
    const things = isRecord(answer) ? answer[returns] : answer;
    return Array.isArray(things) ? things.filter(isRecord) : [];
  }

  async #refuseEmpty(kind: KindSpec, text: string, things: readonly Json[]): Promise<void> {
    const known = things.flatMap((thing) => kind.names.flatMap((name) => textOf(thing[name]) ?? []));
    const meant = nearest(text.slice(text.lastIndexOf('/') + 1), known);
    throw new CliError('not_found', `there is no ${kind.word} "${text}"`, {
      exitCode: EXIT.notFound,
      hints: meant === undefined ? [] : [`did you mean "${meant}"?`],
    });
  }
}

/** Returns the one; throws where there is none, or where there are several. */
export function theOne(word: string, text: string, [match, ...others]: readonly Match[]): Match {
  if (match === undefined)
    throw new CliError('not_found', `there is no ${word} "${text}"`, { exitCode: EXIT.notFound });
  if (others.length === 0) return match;
  const all = [match, ...others];
  const shown = all.slice(0, SHOWN_MAX).map(({ about }) => about);
  throw new UsageError(`${all.length} ${pluralOf(word)} go by "${text}"; give the id of one`, {
    hints: [...shown, ...(all.length > SHOWN_MAX ? [`and ${all.length - SHOWN_MAX} more`] : [])],
  });
}

function kindAt(key: string): KindSpec {
  const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  if (kind === undefined) throw new Error(`the tables know no kind "${key}"`);
  return kind;
}

/** An id of the kind, or something that the server may judge: no name of a person's has such a beginning. */
export function isId({ prefix }: Pick<KindSpec, 'prefix'>, text: string): boolean {
  if (DIGEST.test(text)) return true;
  return prefix !== undefined && text.startsWith(`${prefix}_`) && !BEGINNING.test(text);
}

/** It says in itself where it is. */
function standsAlone(text: string | undefined): boolean {
  return text !== undefined && (text.includes('/') || isId(kindAt(KEYS.environment), text));
}

export function isCalled({ id, names }: Pick<KindSpec, 'id' | 'names'>, thing: Json, text: string): boolean {
  if (names.some((name) => thing[name] === text)) return true;
  return BEGINNING.test(text) && textOf(thing[id])?.startsWith(text) === true;
}

function matchOf({ id: field, names }: KindSpec, thing: Json): Match {
  const id = textOf(thing[field]) ?? '';
  const called = [...new Set(names.flatMap((name) => textOf(thing[name]) ?? []))].join(', ');
  return { id, about: called === '' ? id : `${called} (${id})`, thing };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function pluralOf(word: string): string {
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}
