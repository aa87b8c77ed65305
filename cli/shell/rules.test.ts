/** Walks the table of all commands: what holds for one of them holds for each. */
import { beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../gen/answers.ts';
import { kinds } from '../gen/kinds.ts';
import { addressOf } from './address.ts';
import { commandLine, type AnswerShape, type Command, type Spec } from './command.ts';
import { commandHelp, pageFor } from './help.ts';
import { fill } from './parse.ts';
import { checkPicked, shapeOf } from './picked.ts';
import { placeKindOf } from './place-kind.ts';
import { kindKeyOf } from './kinds.ts';
import { commandTree, leavesOf } from './tree.ts';

let commands: readonly Command[];
let specs: readonly Spec[];

beforeAll(async () => {
  commands = await Promise.all(leavesOf(commandTree()).map(async ({ load }) => await load()));
  specs = commands.map(({ spec }) => spec);
});

const lineOf = (spec: Spec): string => commandLine(spec).replace(/^svc /, '');
const fieldsOf = ({ positionals, flags, locals }: Spec) => [...positionals, ...flags, ...locals];
const each = (broken: (spec: Spec) => readonly string[]): readonly string[] =>
  specs.flatMap((spec) => broken(spec).map((what) => `${lineOf(spec)}: ${what}`));

/** Ids of things that no list of the contract names, or that are not ids of ours, each with the reason. */
const NO_KIND: Readonly<Record<string, string>> = {
  'admin-audit list: actorId': 'whoever acted may be a person, a key, a runner or an agent',
  'audit list: actorId': 'whoever acted may be a person, a key, a runner or an agent',
  'admin-accounts verify-email: userId': 'an account of the platform, of whatever team',
  'admin-billing revoke-grant: grantId': 'grants are listed nowhere',
  'admin-events replay: eventId': 'an event has no name',
  'agents issue-approval-token: resourceId': 'whatever the action is done to',
  'agents update: sponsorUserId': 'an account that is called otherwise than where members are listed',
  'artifacts attest-evaluation: suiteId': 'an id of the caller',
  'budgets set: id': 'an id that the caller makes',
  'ci report: externalRunId': 'an id of the CI system',
  'ci report: jobId': 'an id of the CI system',
  'ci runs list: pipelineId': 'names of pipelines are those of their connection, which is not named',
  'costs explain: itemId': 'of a run or a build',
  'failures list: sourceId': 'of a run or a build',
  'teams failures list: sourceId': 'of a run or a build',
  'maintenance settings update: repositoryId': 'repositories are listed nowhere',
  'maintenance tasks list: repositoryId': 'repositories are listed nowhere',
  'maintenance trigger-run: repositoryId': 'repositories are listed nowhere',
  'maintenance trigger-run: agentIdentityId':
    'an agent that is called otherwise than where agents are listed',
};
/** Acts beside get, create and delete. */
const OTHER_VERBS: Readonly<Record<string, string>> = {
  'failures show': 'one of a list, which has no get',
  'database show': 'what stands in the answer of get, in words, and an exit code of how it stands',
  'admin-signing-keys revoke': 'the key stays, and is known to be revoked',
  'artifacts show': 'it tells more than artifacts get',
  'auth status': 'no thing',
  'spaces members remove': 'a person is put in and taken out',
  'spaces projects add': 'a project is put in and taken out',
  'spaces projects remove': 'a project is put in and taken out',
};

describe('every command', () => {
  it('is in the table', () => {
    expect(specs.length).toBeGreaterThan(240);
  });

  it('takes the name of a thing where it takes an id', () => {
    const nameless = each((spec) =>
      fieldsOf(spec)
        .filter(({ name, type }) => type === 'string' && /(^id|Ids?)$/.test(name))
        .filter((field) => kindKeyOf(spec, field) === undefined)
        .map(({ name }) => name),
    );
    expect(nameless.toSorted()).toEqual(Object.keys(NO_KIND).toSorted());
  });

  it('says id where it takes an id alone, and the name of the kind where it takes both', () => {
    const wrong = each((spec) =>
      fieldsOf(spec)
        .filter(({ placeholder }) => /-(id|slug)s?$/.test(placeholder))
        .filter((field) => {
          const kind = kinds[kindKeyOf(spec, field) ?? ''];
          const isExempt = Object.hasOwn(NO_KIND, `${lineOf(spec)}: ${field.name}`);
          return kind === undefined ? !isExempt : kind.names.length > 0;
        })
        .map(({ placeholder }) => `<${placeholder}>`),
    );
    expect(wrong).toEqual([]);
  });

  it('demands no team, project or environment, but of staff and as what it destroys', () => {
    const isExempt = (spec: Spec, name: string): boolean =>
      spec.auth === 'staff' ||
      (spec.destructive && spec.positionals.some((positional) => positional.name === name));
    const demanding = each((spec) =>
      fill(spec, [])
        .missing.filter(({ name }) => !isExempt(spec, name))
        .filter(({ name }) => /^(team|project|environment)Id$/.test(name))
        .map(({ name }) => name),
    );
    expect(demanding).toEqual([]);
  });

  it('has one verb for one act', () => {
    const others = specs.map(lineOf).filter((line) => / (show|status|add|remove|revoke)$/.test(line));
    expect(others.toSorted()).toEqual(Object.keys(OTHER_VERBS).toSorted());
  });

  it('takes the address of its thing as the first word', () => {
    const without = each((spec) => {
      const hasAddress = spec.operation?.path.includes('{') !== true || spec.positionals.length > 0;
      const isRun = spec.flags.some(({ rest }) => rest === true);
      return hasAddress || isRun || addressOf(spec).length === 1 ? [] : ['no address'];
    });
    expect(without).toEqual([]);
  });

  it('stops a list of pages at a number of rows, and lists all when told to', () => {
    const paged = specs.filter(({ page }) => page !== undefined);
    expect(paged.length).toBeGreaterThan(20);
    const without = paged.filter((spec) => {
      const flags = fieldsOf(spec).map(({ flag }) => flag);
      return !['limit', 'all', 'cursor'].every((flag) => flags.includes(flag));
    });
    expect(without.map(lineOf)).toEqual([]);
  });
});

/** Answers of which no field is known before, each with the reason. */
const OPEN_ANSWERS: Readonly<Record<string, string>> = {
  api: 'any path of the API',
  'features resolved': 'a map of features',
};

describe('the answer of every command', () => {
  it('is known, so that --json=a,b refuses what it has not', () => {
    const open = commands.filter(({ spec, answer }) => {
      if (spec.raw === true || answer === false) return false;
      return shapeOf(answer) === undefined;
    });
    expect(open.map(({ spec }) => lineOf(spec)).toSorted()).toEqual(Object.keys(OPEN_ANSWERS).toSorted());
    for (const command of commands.filter((each) => each.spec.raw !== true && !open.includes(each)))
      expect(() => checkPicked(command, { fields: ['no_such_field'] })).toThrow(
        /there is no field "no_such_field"|prints no JSON/,
      );
  });

  it('names messages of the contracts', () => {
    const valuesOf = (shape: AnswerShape): readonly string[] =>
      Object.values(shape).flatMap((value) => (typeof value === 'string' ? value : valuesOf(value)));
    const named = commands.flatMap(({ answer }) => (typeof answer === 'object' ? valuesOf(answer) : []));
    const unknown = named.filter((name) => !['', '*'].includes(name) && !Object.hasOwn(shapes, name));
    expect(unknown).toEqual([]);
  });
});

describe('the help of every command', () => {
  it('begins with what it is for, and has its exit codes', () => {
    const page = pageFor(100, (_color, text) => text);
    for (const command of commands) {
      const text = commandHelp(command, page);
      const words = text.replaceAll(/\s+/g, ' ');
      expect(text.split('\n')[0]).toBe(`${commandLine(command.spec)}: ${command.spec.summary}`);
      expect(text).toMatch(/\nExit codes\n {2}0 done; 1 [^;]+; 2 wrong command line/);
      const asks = command.spec.operation !== undefined;
      if (asks) expect(words).toContain('4 not signed in (401); 5 not found (404); 7 no answer');
      expect(words.includes('8 still pending'), commandLine(command.spec)).toBe(
        command.waits === true || command.exits?.includes(8) === true,
      );
    }
  });
});

describe('the kinds of things', () => {
  it('have a prefix each, which no other has, and a list that exists', () => {
    const prefixes = Object.values(kinds).map(({ prefix }) => prefix);
    expect(prefixes).not.toContain(undefined);
    const lists = new Set(specs.map(({ operation }) => `${operation?.method} ${operation?.path}`));
    for (const { list } of Object.values(kinds)) expect(lists).toContain(`GET ${list.path}`);
  });

  it('fill the three parts of a place, and nothing that is destroyed', () => {
    const filled = specs.flatMap((spec) => fieldsOf(spec).flatMap((field) => placeKindOf(spec, field) ?? []));
    expect(new Set(filled)).toEqual(new Set(['team', 'project', 'environment']));
    expect(filled.length).toBeGreaterThan(130);
    const destroyed = specs.filter(
      (spec) => spec.destructive && spec.positionals.some((field) => placeKindOf(spec, field) !== undefined),
    );
    expect(destroyed.map(lineOf)).toEqual([]);
  });
});
