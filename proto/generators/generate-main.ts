import { main } from './generate.ts';

try {
  process.exitCode = await main(process.cwd(), process.argv.slice(2));
} catch (error) {
  // Contract errors and buf's findings are for people: the text says it all, a stack would bury it.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
