// `npm run generate` runs generate.ts.
import { runTypeScript } from './run.mjs';

runTypeScript('./generate-main.ts');
