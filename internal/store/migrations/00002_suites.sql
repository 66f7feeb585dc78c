-- Suites of other kinds than Go tests: what is held out together, weights, and metrics.

-- +goose Up

ALTER TABLE problems ADD COLUMN grp TEXT NOT NULL DEFAULT '';
ALTER TABLE problems ADD COLUMN weight DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE problems ADD COLUMN metric TEXT;

ALTER TABLE run_results ADD COLUMN value DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE benchmark_results ADD COLUMN value DOUBLE PRECISION NOT NULL DEFAULT 0;
