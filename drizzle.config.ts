import { defineConfig } from 'drizzle-kit';

// eslint-disable-next-line import/no-default-export -- the tool wants one
export default defineConfig({
  dialect: 'postgresql',
  schema: './server/**/schema.ts',
  out: './server/migrations',
});
