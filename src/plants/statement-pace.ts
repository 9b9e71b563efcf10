/** A statement that takes longer waits for what others need not wait for: a lock on a row, for example. */
const PATIENCE_MS = 100;
/** However long they take. The pool has more connections, for look-ups and for plants that are tried again alone. */
const MOST_UNDER_WAY = 8;

/**
 * Says when the next statement may be sent: when the one before has been answered, so that meanwhile many creates gather, or
 * when that takes long.
 */
export class StatementPace {
  private underWay = 0;
  private isAwaited = false;

  /** @param onOpen called when `isOpen` may have become true */
  constructor(private readonly onOpen: () => void) {}

  get isOpen(): boolean {
    return !this.isAwaited && this.underWay < MOST_UNDER_WAY;
  }

  /** Begins a statement, and returns what ends it. There is no more than one that the next one waits for. */
  begin(): () => void {
    this.underWay += 1;
    this.isAwaited = true;
    let isAwaited = true;
    const letNextGo = (): void => {
      if (isAwaited) this.isAwaited = false;
      isAwaited = false;
      this.onOpen();
    };
    const patience = setTimeout(letNextGo, PATIENCE_MS);
    return () => {
      clearTimeout(patience);
      this.underWay -= 1;
      letNextGo();
    };
  }
}
