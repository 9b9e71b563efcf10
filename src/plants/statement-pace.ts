/** While one waits for the disk, another is on its way there; with more at a time, fewer plants would share each commit. */
const AT_A_TIME = 2;
/** A statement that takes longer waits for what others need not wait for, a lock on a row for example, and counts no more. */
const PATIENCE_MS = 100;

/** Says when the next statement may be sent, so that creates gather for it while those before are under way. */
export class StatementPace {
  private underWay = 0;
  /** Those of them that have not taken long yet. */
  private awaited = 0;

  /**
   * @param most statements that are under way, however long they take
   * @param onOpen called when one more may have become free
   */
  constructor(
    private readonly most: number,
    private readonly onOpen: () => void,
  ) {}

  /** Statements that may be sent now. */
  get free(): number {
    return Math.max(0, Math.min(AT_A_TIME - this.awaited, this.most - this.underWay));
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
