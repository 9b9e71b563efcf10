CREATE TABLE orders (
  number SERIAL PRIMARY KEY,
  customer TEXT NOT NULL,
  plant TEXT NOT NULL,
  quantity INTEGER NOT NULL
);
