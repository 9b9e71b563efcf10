/** A sleep that can be ended, and does not keep the process from ending. */
export class Wakeable {
  private end: (() => void) | undefined;

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      // What setTimeout can wait for.
      const timer = setTimeout(() => this.end?.(), Math.min(milliseconds, 2 ** 31 - 1)).unref();
      this.end = () => {
        clearTimeout(timer);
        this.end = undefined;
        resolve();
      };
    });
  }

  wake(): void {
    this.end?.();
  }
}
