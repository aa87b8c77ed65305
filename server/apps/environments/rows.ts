import { rowsOf } from '../../kit/resource/index.ts';
import type { RowOf } from '../../kit/resource/index.ts';
import { environments } from './schema.ts';

export const environmentRows = rowsOf(environments);
export type Environment = RowOf<typeof environments>;
