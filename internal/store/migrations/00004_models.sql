-- Model calls and what they cost, what people did to a campaign, what was learnt.

-- +goose Up

ALTER TABLE campaigns ADD COLUMN budget TEXT;
ALTER TABLE campaigns ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE campaigns ADD COLUMN forked_at TEXT NOT NULL DEFAULT '';

-- One row for each attempt to have a model answer.
CREATE TABLE calls (
    id            TEXT NOT NULL PRIMARY KEY,
    campaign      TEXT NOT NULL REFERENCES campaigns (name),
    generation    BIGINT NOT NULL,
    proposer      TEXT NOT NULL,
    call_key      TEXT NOT NULL,
    endpoint      TEXT NOT NULL,
    model         TEXT NOT NULL,
    status        TEXT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    money         DOUBLE PRECISION NOT NULL,
    most_tokens   BIGINT NOT NULL,
    most_money    DOUBLE PRECISION NOT NULL,
    answer        TEXT NOT NULL,
    cut           INTEGER NOT NULL,
    error         TEXT NOT NULL,
    started       BIGINT NOT NULL,
    ended         BIGINT NOT NULL
);
-- The sums of a campaign are read from this index alone.
CREATE INDEX calls_spent ON calls (campaign, generation, status, proposer, input_tokens, output_tokens, money, most_tokens, most_money);
CREATE INDEX calls_answered ON calls (campaign, generation, proposer, call_key, status);

-- What people did to a campaign: its audit trail.
CREATE TABLE campaign_events (
    campaign  TEXT NOT NULL REFERENCES campaigns (name),
    seq       BIGINT NOT NULL,
    event_key TEXT NOT NULL,
    kind      TEXT NOT NULL,
    person    TEXT NOT NULL,
    why       TEXT NOT NULL,
    body      TEXT NOT NULL,
    at_time   BIGINT NOT NULL,
    PRIMARY KEY (campaign, seq),
    UNIQUE (campaign, event_key)
);

CREATE TABLE reflections (
    campaign   TEXT NOT NULL REFERENCES campaigns (name),
    generation BIGINT NOT NULL,
    proposer   TEXT NOT NULL,
    task       TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    worked     TEXT NOT NULL,
    failed     TEXT NOT NULL,
    surprised  TEXT NOT NULL,
    learn      TEXT NOT NULL,
    at_time    BIGINT NOT NULL,
    PRIMARY KEY (campaign, generation)
);
