import type { HostTransaction } from 'plant-store';
import { DataTypes, QueryTypes, Sequelize } from 'sequelize';
import type { OpenLibrary } from './library.js';

export const open: OpenLibrary = (url, plants) => {
  const sequelize = new Sequelize(url, { logging: false });
  const columns = { plantId: { type: DataTypes.BIGINT, field: 'plant_id', primaryKey: true } };
  const Order = sequelize.define('Order', columns, { tableName: 'orders', timestamps: false });
  const sow = async (): Promise<void> => {
    await sequelize.transaction(async (transaction) => {
      const query = (text: string, bind: unknown[]) =>
        sequelize.query(text, { bind, transaction, type: QueryTypes.SELECT });
      await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
      await Order.create({ plantId: 1 }, { transaction });
    });
  };
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [sequelize];
  return { sow, instances, close: () => sequelize.close() };
};
