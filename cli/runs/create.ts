/** `svc runs create` */
import { createCommand } from '../follow/work.ts';
import type { GeneratedSpec, Own } from '../shell/command.ts';
import { RUN } from './work.ts';

export function create(generated: GeneratedSpec): Own {
  return createCommand(generated, RUN, {
    title: 'See what it prints, and end as it ends',
    cli: 'runs create --team team_01 --follow -- sh -c "date; id"',
  });
}
