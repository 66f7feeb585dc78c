-- Benchmarks of agents, baselines, and what is needed to read a benchmark alone.

-- +goose Up

ALTER TABLE benchmarks ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE benchmarks ADD COLUMN baseline INTEGER NOT NULL DEFAULT 0;
ALTER TABLE benchmarks ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}';
ALTER TABLE benchmarks ADD COLUMN build_log TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX benchmarks_baseline ON benchmarks (name) WHERE baseline = 1;
