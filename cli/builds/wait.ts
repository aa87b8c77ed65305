/** `svc builds wait` */
import { waitCommand } from '../follow/work.ts';
import type { Own } from '../shell/command.ts';
import { BUILD } from './work.ts';

export const wait = (): Own => waitCommand(BUILD, 'builds wait bld_01 --env env_01 --timeout 10m');
