-- What a proposal had to say beside its attempts, for one that is made again.

-- +goose Up

ALTER TABLE proposals ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE proposals ADD COLUMN exhausted INTEGER NOT NULL DEFAULT 0;
