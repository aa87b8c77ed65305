// `npm run generate`, and with --check what is stale: see generate.ts.
import { runTypeScript } from './run.mjs';

runTypeScript('./generate-main.ts');
