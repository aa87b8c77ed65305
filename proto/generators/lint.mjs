// `node proto/generators/lint.mjs [revision]` runs lint.ts.
import { runTypeScript } from './run.mjs';

runTypeScript('./lint-main.ts');
