/** While one waits for the disk, another is on its way there; with more at a time, fewer plants would share each commit. */
const AT_A_TIME = 2;
/** A statement that takes longer waits for what others need not wait for, a lock on a row for example, and counts no more. */
const PATIENCE_MS = 100;
/** However long they take. The pool has more connections, for look-ups and for plants that are tried again alone. */
const MOST_UNDER_WAY = 8;

/** Says when the next statement may be sent, so that creates gather for it while those before are under way. */
export class StatementPace {
  private underWay = 0;
  /** Those of them that have not taken long yet. */
  private awaited = 0;

  /** @param onOpen called when `isOpen` may have become true */
  constructor(private readonly onOpen: () => void) {}

  get isOpen(): boolean {
    return this.awaited < AT_A_TIME && this.underWay < MOST_UNDER_WAY;
  }

  /** Begins a statement, and returns what ends it. */
  begin(): () => void {
    this.underWay += 1;
    this.awaited += 1;
    let isAwaited = true;
    const letNextGo = (): void => {
      if (isAwaited) this.awaited -= 1;
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
