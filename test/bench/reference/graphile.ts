/**
 * This is the reference of the dispatch figures: graphile-worker on the same PostgreSQL, caller and worker in
 * one process with nothing between them. It is a process of its own, because it leaves its connections open
 * when it stops. It prints its samples as JSON and is called as `graphile.ts <url> latency|throughput <count>
 * <at once>`.
 */
import { Logger, run as startWorker, type WorkerUtils } from 'graphile-worker';

interface GraphileBench {
  /** Milliseconds from adding a job to its task starting, one at a time. */
  latencies(count: number): Promise<number[]>;
  /** Jobs a second, added and run `concurrency` at once. */
  throughput(count: number, concurrency: number): Promise<number>;
}

async function startGraphile(connectionString: string): Promise<GraphileBench> {
  let onTask: () => void = () => undefined;
  const runner = await startWorker({
    connectionString,
    concurrency: 50,
    pollInterval: 1_000,
    noHandleSignals: true,
    logger: silentLogger(),
    taskList: { noop: async () => onTask() },
  });
  const add = (utils: Pick<WorkerUtils, 'addJob'>) => utils.addJob('noop', {});

  return {
    async latencies(count) {
      const samples: number[] = [];
      for (let index = 0; index < count; index += 1) {
        const startedAt = performance.now();
        const started = new Promise<void>((resolve) => (onTask = resolve));
        await add(runner);
        await started;
        samples.push(performance.now() - startedAt);
      }
      return samples;
    },
    async throughput(count, concurrency) {
      let done = 0;
      const startedAt = performance.now();
      const finished = new Promise<void>((resolve) => {
        onTask = () => {
          done += 1;
          if (done === count) resolve();
        };
      });
      let added = 0;
      const adder = async () => {
        while (added < count) {
          added += 1;
          await add(runner);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, adder));
      await finished;
      return (count / (performance.now() - startedAt)) * 1000;
    },
  };
}

function silentLogger() {
  return new Logger(() => () => undefined);
}

const [url = '', mode, count = '0', atOnce = '1'] = process.argv.slice(2);
const bench = await startGraphile(url);
if (mode === 'latency') {
  await bench.latencies(50);
  console.log(`samples ${JSON.stringify(await bench.latencies(Number(count)))}`);
} else {
  await bench.throughput(5_000, Number(atOnce));
  console.log(`samples ${JSON.stringify([await bench.throughput(Number(count), Number(atOnce))])}`);
}
process.exit(0);
