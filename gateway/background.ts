/** Runs tasks that nobody waits for, a bounded number at once, in the order in which they came. A task must not reject. */
export class Background {
  readonly #tasks: (() => Promise<void>)[] = [];
  readonly #max: number;
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  run(task: () => Promise<void>): void {
    this.#tasks.push(task);
    this.#next();
  }

  #next(): void {
    while (this.#running < this.#max) {
      const task = this.#tasks.shift();
      if (task === undefined) return;
      this.#running += 1;
      void task().finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }
}
