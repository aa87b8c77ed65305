/** Memory of a server after 100,000 items, beside what it had after 10,000: nothing that is over stays. */
import { freshDatabase } from './database.ts';
import { figure, type Figure } from './figure.ts';
import { settled } from './resident.ts';
import { withProduct } from './throughput.ts';

const [FEW, MANY] = [10_000, 100_000];

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const [few, many] = await withProduct(
    { url: database.url, layout: 'one process' },
    async (pass, { server }) => {
      await pass(FEW);
      const early = await settled(server);
      await pass(MANY - FEW);
      return [early, await settled(server)] as const;
    },
  );
  return [
    figure({
      name: `memory of the server after ${MANY.toLocaleString('en')} items`,
      unit: 'MiB',
      value: many,
      reference: `after ${FEW.toLocaleString('en')}`,
      referenceValue: few,
      target: '≤ 1.1 ×',
      pass: (_, ratio) => ratio <= 1.1,
    }),
  ];
}
