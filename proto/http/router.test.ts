import { describe, expect, it } from 'vitest';
import { rpcs } from '../gen/rpcs.ts';
import { createRouter, type Target } from './router.ts';
import type { PathSegment, RestRoute, RpcInfo, Verb } from './rpc.ts';
import { TIMED } from '../../test/setup/timed.ts';

const base = rpcs[0] as RpcInfo;

function target(verb: Verb, template: string, id = template): Target {
  const colon = template.lastIndexOf(':');
  const path = colon > template.lastIndexOf('/') ? template.slice(0, colon) : template;
  const segments: PathSegment[] = path
    .slice(1)
    .split('/')
    .map((part) => {
      const variable = /^\{(\w+)(=\*\*)?\}$/.exec(part);
      if (variable === null) return { literal: part };
      return variable[2] === undefined
        ? { field: variable[1] ?? '' }
        : { field: variable[1] ?? '', multi: true };
    });
  const route: RestRoute = {
    verb,
    template,
    segments,
    body: '',
    ...(path === template ? {} : { customVerb: template.slice(colon + 1) }),
  };
  return { rpc: { ...base, id }, route };
}

function routerOf(...routes: [Verb, string][]) {
  const router = createRouter<Target>();
  for (const [verb, template] of routes) router.add(target(verb, template));
  return (verb: string, path: string, hidden: string[] = []) => {
    const routed = router.find(verb, path, (rpc) => !hidden.includes(rpc.id));
    return 'target' in routed
      ? { template: routed.target.route.template, captures: routed.captures }
      : routed.allow;
  };
}

describe('an unlisted route', () => {
  const router = createRouter<Target>();
  for (const verb of ['GET', 'POST'] as const) router.add(target(verb, '/tasks/{id}'));
  router.add(target('PUT', '/tasks/{id}/note'));
  const find = (verb: string, path: string, listed: readonly string[] = []) => {
    const routed = router.find(verb, path, ({ id }) => listed.includes(id) || 'unlisted');
    return 'target' in routed ? routed.target.route.verb : routed.allow;
  };

  it('is found by its own verb, and not told of to other ones', () => {
    expect(find('GET', '/tasks/1')).toBe('GET');
    expect(find('HEAD', '/tasks/1')).toBe('GET');
    expect(find('PUT', '/tasks/1')).toEqual([]);
    expect(find('GET', '/tasks/1/note')).toEqual([]);
  });
});

describe('createRouter()', () => {
  const find = routerOf(
    ['GET', '/teams'],
    ['POST', '/teams'],
    ['GET', '/teams/{id}'],
    ['DELETE', '/teams/{id}'],
    ['POST', '/teams/accept'],
    ['GET', '/teams/{id}/runners'],
    ['GET', '/teams/mine/runners'],
    ['GET', '/teams/{id}/runners/{runner}'],
    ['POST', '/teams/{id}/runners/{runner}/pause'],
    ['GET', '/files/{path=**}'],
    ['GET', '/files/special/{name}'],
    ['POST', '/jobs/{id}:cancel'],
    ['GET', '/jobs/{id}'],
  );

  it.each([
    ['GET', '/teams', '/teams', []],
    ['HEAD', '/teams', '/teams', []],
    ['GET', '/teams/t1', '/teams/{id}', ['t1']],
    ['GET', '/teams/mine/runners', '/teams/mine/runners', []],
    ['GET', '/teams/your/runners', '/teams/{id}/runners', ['your']],
    // Backtracks out of the literal `mine`, which has nothing further below.
    ['GET', '/teams/mine/runners/r1', '/teams/{id}/runners/{runner}', ['mine', 'r1']],
    // The literal has POST alone, and the variable answers GET.
    ['GET', '/teams/accept', '/teams/{id}', ['accept']],
    ['POST', '/teams/accept', '/teams/accept', []],
    ['GET', '/teams/a%2Fb', '/teams/{id}', ['a%2Fb']],
    ['GET', '/teams/..', '/teams/{id}', ['..']],
    ['GET', '/files', '/files/{path=**}', ['']],
    ['GET', '/files/', '/files/{path=**}', ['']],
    ['GET', '/files/a/b%2Fc', '/files/{path=**}', ['a/b%2Fc']],
    ['GET', '/files/special/x', '/files/special/{name}', ['x']],
    ['GET', '/files/special/x/y', '/files/{path=**}', ['special/x/y']],
    ['POST', '/jobs/j1:cancel', '/jobs/{id}:cancel', ['j1']],
    ['GET', '/jobs/j1:cancel', '/jobs/{id}', ['j1:cancel']],
    ['GET', '/jobs/a:b:c', '/jobs/{id}', ['a:b:c']],
  ])('%s %s is %s with %j', (verb, path, template, captures) => {
    expect(find(verb, path)).toEqual({ template, captures });
  });

  it.each([
    ['GET', '/'],
    ['GET', '/team'],
    ['GET', '/Teams'],
    ['GET', '/teams/'],
    ['GET', '//teams'],
    ['GET', '/teams//runners'],
    ['GET', '/teams/t1/runners/'],
    ['GET', '/./teams'],
    ['GET', '/x/../teams'],
    ['GET', '/%74eams'],
    ['GET', '/teams;x=1'],
    ['GET', '/constructor'],
    ['GET', '/__proto__/x'],
    ['GET', '/teams/t1/runners/r1/pause/x'],
  ])('%s %s is no route', (verb, path) => {
    expect(find(verb, path)).toEqual([]);
  });

  it.each([
    ['PUT', '/teams', ['GET', 'POST']],
    ['OPTIONS', '/teams/t1', ['GET', 'DELETE']],
    ['DELETE', '/teams/t1/runners/r1/pause', ['POST']],
    ['PATCH', '/teams/accept', ['GET', 'POST', 'DELETE']],
    ['POST', '/jobs/j1', ['GET']],
    ['get', '/teams', ['GET', 'POST']],
  ])('%s %s is allowed only %j', (verb, path, allow) => {
    expect(find(verb, path)).toEqual(allow);
  });

  it('passes hidden routes over, in matching and in Allow', () => {
    expect(find('GET', '/teams/mine/runners', ['/teams/mine/runners'])).toEqual({
      template: '/teams/{id}/runners',
      captures: ['mine'],
    });
    expect(find('PUT', '/teams/t1/runners/r1/pause', ['/teams/{id}/runners/{runner}/pause'])).toEqual([]);
    expect(find('POST', '/teams/t1/runners/r1/pause', ['/teams/{id}/runners/{runner}/pause'])).toEqual([]);
  });

  it('refuses two routes of one verb and shape', () => {
    const router = createRouter<Target>();
    router.add(target('GET', '/a/{x}'));
    expect(() => router.add(target('GET', '/a/{y}'))).toThrow('two RPCs are served at GET /a/{y}');
  });

  it('finds every route of the contracts at its own template', () => {
    const router = createRouter<Target>();
    for (const rpc of rpcs) for (const route of rpc.routes) router.add({ rpc, route });
    for (const rpc of rpcs) {
      for (const route of rpc.routes) {
        const routed = router.find(route.verb, route.template.replace(/\{\w+\}/g, 'x'), () => true);
        expect('target' in routed && routed.target.rpc.id).toBe(rpc.id);
      }
    }
  });

  it('answers a path of 100 kB and one of 50,000 segments at once', TIMED, () => {
    const started = process.cpuUsage();
    expect(find('GET', `/teams/${'x'.repeat(100_000)}/no`)).toEqual([]);
    expect(find('GET', '/a'.repeat(50_000))).toEqual([]);
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(100);
  });
});
