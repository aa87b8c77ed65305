/** `svc builds create` */
import { createCommand } from '../follow/work.ts';
import type { GeneratedSpec, Own } from '../shell/command.ts';
import { BUILD } from './work.ts';

export function create(generated: GeneratedSpec): Own {
  return createCommand(generated, BUILD, {
    title: 'See what it prints, and end as it ends',
    cli: 'builds create env_01 --follow',
  });
}
