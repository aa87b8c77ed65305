/** `svc runs wait` */
import { waitCommand } from '../follow/work.ts';
import type { Own } from '../shell/command.ts';
import { RUN } from './work.ts';

export const wait = (): Own => waitCommand(RUN, 'runs wait run_01 --timeout 10m');
