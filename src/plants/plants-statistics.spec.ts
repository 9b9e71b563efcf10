import { describe, expect, it } from '@jest/globals';
import { PlantsStatistics } from './plants-statistics.js';

describe(PlantsStatistics.name, () => {
  it('should count as many creators one by one as metrics can bear, and the others together', () => {
    const statistics = new PlantsStatistics();
    for (const round of [1, 2]) {
      for (let i = 0; i < 1100; i++) statistics.countCreated({ name: `creator-${i}` });
      expect(statistics.createdBy.size).toBe(1001);
      expect(statistics.createdBy.get('creator-999')).toBe(round);
      expect(statistics.createdBy.get('other')).toBe(round * 100);
    }
  });
});
