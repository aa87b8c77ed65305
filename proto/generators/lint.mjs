// `node proto/generators/lint.mjs [revision]`: see lint.ts.
import { runTypeScript } from './run.mjs';

runTypeScript('./lint-main.ts');
