import { invalid } from './refusal.ts';
import { get, pageOf, PAGING, shows, type Route } from './routes.ts';

const LISTED_DAYS = 30;

export const eventRoutes: readonly Route[] = [
  shows('event', '/v1/events'),
  get('/v1/events', [...PAGING, 'type', 'types'], ({ world, params }) => {
    if (params.has('type') && params.has('types'))
      throw invalid('You may only specify one of these parameters: type, types.', { param: 'types' });
    const type = params.text('type');
    const types = type === undefined ? params.texts('types') : [type];
    const oldest = world.now() - LISTED_DAYS * 24 * 3600;
    return pageOf(params, {
      path: '/v1/events',
      all: [...world.tables.event.values()].filter(
        (each) => each.created >= oldest && (types.length === 0 || types.some((one) => fits(one, each.type))),
      ),
    });
  }),
];

/** `invoice.*` names all that begin so. */
const fits = (pattern: string, type: string): boolean =>
  pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
